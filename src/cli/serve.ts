import type { Command } from 'commander';
import { findUpstream, parseConfig, type GatewayConfig } from '../config/config.js';
import { loadConfig } from '../config/load.js';
import type { ConfigFlags } from '../config/override.js';
import { banner } from './banner.js';
import { withConfigOptions } from './config-options.js';
import { nextSteps } from './next-steps.js';
import { explainStart } from './start-error.js';
import type { DemoUpstreams, GatewayModule, Terminal } from './terminal.js';
import { packageVersion } from './version.js';

/** Adds `serve`. */
export function addServe(program: Command, terminal: Terminal): void {
  withConfigOptions(program.command('serve'))
    .description(
      'Run the gateway; without any upstream, in front of two small demo servers, one of each era.',
    )
    .action((flags: ConfigFlags) => serve(flags, terminal));
}

async function serve(flags: ConfigFlags, terminal: Terminal): Promise<void> {
  const loaded = await loadConfig(flags, terminal.environment);
  const module = await terminal.loadGateway();
  const demo = Object.keys(loaded.upstreams).length === 0 ? await module.startDemoUpstreams() : undefined;
  try {
    const config = demo === undefined ? loaded : withDemo(loaded, demo);
    const gateway = await module.createGateway(config).catch((error: unknown) => {
      throw explainStart(error, config.listen);
    });
    try {
      // Asked for before anything is printed: whoever waits for the banner may stop us right after it.
      const stop = terminal.stopRequested();
      terminal.out(banner(config, gateway.url, packageVersion()));
      if (demo !== undefined) terminal.out(await demoSteps(config, gateway.url, module));
      terminal.err(`${await stop}: closing; once more to stop at once\n`);
    } finally {
      await gateway.close({ graceMs: config.timeouts.shutdownMs });
    }
  } finally {
    await demo?.close();
  }
}

function withDemo(config: GatewayConfig, demo: DemoUpstreams): GatewayConfig {
  return parseConfig({
    ...config,
    upstreams: { legacy: { url: demo.legacy }, modern: { url: demo.modern } },
  });
}

/**
 * The commands name revisions, which only the servers and the adapters know, so they are asked. Without an
 * answer there are no commands; the gateway itself runs all the same.
 */
async function demoSteps(config: GatewayConfig, url: string, module: GatewayModule): Promise<string> {
  const newest = async (name: string): Promise<string | undefined> => {
    const upstream = findUpstream(config, name);
    if (upstream === undefined) return undefined;
    const report = await module.inspectUpstream(upstream).catch(() => undefined);
    return report?.versions[0];
  };
  const [legacy, modern] = await Promise.all([newest('legacy'), newest('modern')]);
  return legacy === undefined || modern === undefined ? '' : nextSteps(url, { legacy, modern });
}

import { run } from '../../../src/cli/program.js';
import type { GatewayModule } from '../../../src/cli/terminal.js';
import type { GatewayConfig, UpstreamConfig } from '../../../src/config/config.js';
import type { UpstreamReport } from '../../../src/upstreams/report.js';

/** What a test wants the gateway to do, and what it saw of it. */
export interface Script {
  environment?: Record<string, string>;
  report?: Omit<UpstreamReport, 'url'>;
  startFails?: Error;
}

export interface Outcome {
  code: number;
  out: string;
  err: string;
  served: GatewayConfig[];
  inspected: UpstreamConfig[];
  events: string[];
}

/** Runs one command line in this process against a scripted gateway; `serve` is stopped as soon as it waits. */
export async function runCommand(args: readonly string[], script: Script = {}): Promise<Outcome> {
  const seen: Outcome = { code: -1, out: '', err: '', served: [], inspected: [], events: [] };
  const gateway: GatewayModule = {
    createGateway: async (config) => {
      seen.served.push(config);
      if (script.startFails !== undefined) throw script.startFails;
      return { url: 'http://127.0.0.1:8808', close: async () => void seen.events.push('gateway closed') };
    },
    startDemoUpstreams: async () => ({
      legacy: 'http://127.0.0.1:1/mcp',
      modern: 'http://127.0.0.1:2/mcp',
      close: async () => void seen.events.push('demo closed'),
    }),
    inspectUpstream: async (config) => {
      seen.inspected.push(config);
      if (script.report === undefined) throw new Error('no report in this script');
      return { url: config.url, ...script.report };
    },
  };
  seen.code = await run(args, {
    environment: script.environment ?? {},
    out: (text) => (seen.out += text),
    err: (text) => (seen.err += text),
    loadGateway: async () => gateway,
    stopRequested: async () => 'SIGTERM',
  });
  return seen;
}

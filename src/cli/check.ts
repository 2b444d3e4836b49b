import type { Command } from 'commander';
import { parseConfig, type UpstreamConfig } from '../config/config.js';
import { ConfigError } from '../config/config-error.js';
import { formatPath } from '../config/key-path.js';
import { redactUrl } from '../config/redact.js';
import { checkText } from './check-text.js';
import { compatibility } from './compatibility.js';
import type { SetExitCode } from './program.js';
import type { Terminal } from './terminal.js';

interface CheckFlags {
  era?: string;
  header?: string[];
  json?: boolean;
}

/** Adds `check`: exit code 0 when the era of the server is known, else 1. */
export function addCheck(program: Command, terminal: Terminal, setExitCode: SetExitCode): void {
  program
    .command('check')
    .argument('<url>', 'the MCP endpoint of the server')
    .description(
      'Look at a server: which era it speaks, and what clients of each era get through the gateway.',
    )
    .option('--era <era>', 'take the era for granted: legacy or modern')
    .option(
      '-H, --header <field>',
      "header to send, as 'Name: value', Authorization included; repeatable",
      (value: string, before: string[] | undefined) => [...(before ?? []), value],
    )
    .option('--json', 'print JSON')
    .action(async (url: string, flags: CheckFlags) => {
      const upstream = upstreamOf(url, flags);
      const gateway = await terminal.loadGateway();
      const report = await gateway.inspectUpstream(upstream);
      const clients = compatibility(report);
      terminal.out(
        flags.json === true
          ? `${JSON.stringify({ ...report, url: redactUrl(report.url), clients }, null, 2)}\n`
          : checkText(report, clients),
      );
      if (report.era === 'unknown') setExitCode(1);
    });
}

function upstreamOf(url: string, flags: CheckFlags): UpstreamConfig {
  const fields = (flags.header ?? []).map(parseField);
  const authorization = fields.findLast(([name]) => name.toLowerCase() === 'authorization');
  const headers = Object.fromEntries(fields.filter(([name]) => name.toLowerCase() !== 'authorization'));
  const given = {
    url,
    era: flags.era,
    headers,
    authorization: authorization && { mode: 'static', header: authorization[1] },
  };
  const config = parseConfig({ upstreams: { checked: given } }, nameOrigin);
  return config.upstreams.checked as UpstreamConfig;
}

function parseField(text: string): [string, string] {
  const [, name, value] = /^([^:\s]+):\s*(.*?)\s*$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw new ConfigError([{ at: '--header', message: "expected 'Name: value'" }]);
  }
  return [name, value];
}

function nameOrigin([, , key, ...rest]: readonly PropertyKey[]): string {
  if (key === 'era') return '--era';
  if (key === 'headers') return `--header ${formatPath(rest)}`;
  return key === 'authorization' ? '--header Authorization' : 'URL';
}

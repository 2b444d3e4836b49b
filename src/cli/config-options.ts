import type { Command } from 'commander';

/** The options that make up a configuration, the same for every command that needs one. */
export function withConfigOptions(command: Command): Command {
  return command
    .option(
      '-u, --upstream <url>',
      'server to reach, as URL or NAME=URL; repeatable',
      (value: string, before: string[] | undefined) => [...(before ?? []), value],
    )
    .option(
      '-l, --listen <address>',
      'host:port, :port, [ipv6]:port or a port on loopback (default 127.0.0.1:8808)',
    )
    .option('-c, --config <file>', 'YAML or JSON configuration file')
    .option('--era <era>', 'era of the upstreams: auto, legacy or modern (default auto)')
    .option('--log-level <level>', 'fatal, error, warn, info, debug, trace or silent (default info)');
}

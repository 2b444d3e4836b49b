import type { Command } from 'commander';
import { stringify } from 'yaml';
import { loadConfig } from '../config/load.js';
import type { ConfigFlags } from '../config/override.js';
import { redactConfig } from '../config/redact.js';
import { configReference } from '../config/reference.js';
import { configFileSchema } from '../config/schema-node.js';
import { withConfigOptions } from './config-options.js';
import type { Terminal } from './terminal.js';

/** Adds `config schema` and `config print`. */
export function addConfig(program: Command, terminal: Terminal): void {
  const config = program.command('config').description('Look at the configuration.');
  config
    .command('schema')
    .description('Print the JSON Schema of a configuration file, with descriptions and defaults.')
    .option('--markdown', 'print the reference page instead')
    .action(({ markdown = false }: { markdown?: boolean }) =>
      terminal.out(markdown ? configReference() : `${JSON.stringify(configFileSchema(), null, 2)}\n`),
    );
  withConfigOptions(config.command('print'))
    .description('Print the configuration as the gateway would use it, with secrets hidden.')
    .action(async (flags: ConfigFlags) => {
      const resolved = await loadConfig(flags, terminal.environment);
      terminal.out(stringify(redactConfig(resolved), { lineWidth: 0 }));
    });
}

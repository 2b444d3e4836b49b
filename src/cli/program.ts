import { Command, CommanderError } from 'commander';
import { ConfigError } from '../config/config-error.js';
import { StoreError } from '../replay/store.js';
import { addCheck } from './check.js';
import { addConfig } from './config.js';
import { addServe } from './serve.js';
import { StartError } from './start-error.js';
import type { Terminal } from './terminal.js';
import { packageVersion } from './version.js';

/** A command's way to say with which code the process ends; 0 when it is never called. */
export type SetExitCode = (code: number) => void;

/**
 * Runs one command line (without interpreter and script) and gives the exit code: 0 for success, 1 when the
 * work failed, 2 when the command line or the configuration is wrong.
 */
export async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  let exitCode = 0;
  const program = createProgram(terminal, (code) => (exitCode = code));
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof ConfigError) {
      terminal.err(`${error.message}\n`);
      return 2;
    }
    if (error instanceof StartError || error instanceof StoreError) terminal.err(`${error.message}\n`);
    else
      terminal.err(`mcp-gangway failed: ${error instanceof Error ? String(error.stack) : String(error)}\n`);
    return 1;
  }
}

function createProgram(terminal: Terminal, setExitCode: SetExitCode): Command {
  const program = new Command('mcp-gangway')
    .description('One MCP endpoint through which any client reaches any server, whichever era the two speak.')
    .version(packageVersion())
    .exitOverride()
    .configureOutput({ writeOut: (text) => terminal.out(text), writeErr: (text) => terminal.err(text) })
    .showHelpAfterError('(--help shows what there is)');
  addServe(program, terminal);
  addCheck(program, terminal, setExitCode);
  addConfig(program, terminal);
  return program;
}

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const HERE = dirname(fileURLToPath(import.meta.url));

/** The major version of the Python SDK; each has an environment of its own. */
export type SdkVersion = 'v1' | 'v2';

/** Makes both environments where they are missing. False when that failed, for want of Python or of a network. */
export function makeEnvironments(): boolean {
  return spawnSync(join(HERE, 'setup.sh'), { stdio: 'inherit' }).status === 0;
}

function spawnPython(version: SdkVersion, script: string, args: readonly string[]): ChildProcess {
  const python = join(HERE, `.venv-${version}`, 'bin', 'python');
  return spawn(python, [join(HERE, script), ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** Calls back for each line of stdout; resolves when there will be no more. */
async function eachLine(child: ChildProcess, heard: (line: string) => void): Promise<void> {
  if (child.stdout === null) throw new Error('no stdout');
  for await (const line of createInterface({ input: child.stdout })) heard(line);
}

export interface ScriptEnd {
  readonly code: number | null;
  readonly lines: string[];
}

/** Runs a script to its end. One that takes more than `timeoutMs` is killed, and has no exit code. */
export async function runPython(
  version: SdkVersion,
  script: string,
  args: readonly string[],
  timeoutMs: number,
): Promise<ScriptEnd> {
  const child = spawnPython(version, script, args);
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  const lines: string[] = [];
  const read = eachLine(child, (line) => lines.push(line));
  const [code] = (await once(child, 'exit')) as [number | null];
  await read;
  clearTimeout(timer);
  return { code, lines };
}

/** A Python server in a process of its own. */
export class PythonServer {
  /** One event for each line the server says, e.g. `aborted probe_slow`. */
  readonly told = new EventEmitter<Record<string, []>>();

  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(version: SdkVersion, ...args: string[]): Promise<PythonServer> {
    const child = spawnPython(version, `python_${version}_server.py`, args);
    return new Promise((resolve, reject) => {
      let server: PythonServer | undefined;
      child.once('error', reject);
      child.once('exit', (code) => reject(new Error(`the Python server ended with ${String(code)}`)));
      void eachLine(child, (line) => {
        const port = /^listening (\d+)$/.exec(line)?.[1];
        if (port === undefined) {
          server?.told.emit(line);
        } else {
          server = new PythonServer(child, `http://127.0.0.1:${port}/mcp`);
          resolve(server);
        }
      });
    });
  }

  async close(): Promise<void> {
    const exit = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exit;
  }
}

import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { bundledEntry } from './bundled-entry.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface KillableGateway {
  readonly url: string;
  /** Ends it without a word. Resolves when it is gone. */
  kill(): Promise<void>;
  /** Ends it properly. Resolves with its exit code. */
  stop(): Promise<number | null>;
}

/** Starts a gateway in a process of its own, in front of one upstream. It is killed when the test is over. */
export async function startKillableGateway(
  upstreamUrl: string,
  overrides: Record<string, unknown> = {},
): Promise<KillableGateway> {
  const config = {
    logging: { level: 'silent' },
    ...overrides,
    listen: { host: '127.0.0.1', port: 0 },
    upstreams: { default: { url: upstreamUrl } },
  };
  const entry = bundledEntry('test/peers/gateway-child.ts');
  const child = spawn(process.execPath, [entry, JSON.stringify(config)], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const end = (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    return exited;
  };
  return {
    url: await readyUrl(child),
    kill: async () => {
      await end('SIGKILL');
    },
    stop: () => end('SIGTERM'),
  };
}

function readyUrl(child: ChildProcess): Promise<string> {
  let out = '';
  return new Promise((resolve, reject) => {
    const read = (text: string): void => {
      out += text;
      const url = /^ready (\S+)/m.exec(out)?.[1];
      if (url !== undefined) resolve(url);
    };
    child.stdout?.setEncoding('utf8').on('data', read);
    child.stderr?.setEncoding('utf8').on('data', read);
    child.once('exit', () => reject(new Error(`the gateway did not start: ${out}`)));
  });
}

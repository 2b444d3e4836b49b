import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterEach } from 'vitest';
import { bundledEntry } from '../../peers/bundled-entry.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** A running command and what it has printed so far. */
export interface Child {
  readonly process: ChildProcess;
  out: string;
  err: string;
  /** Resolves with the exit code, or the name of the signal that ended it. */
  readonly ended: Promise<number | string>;
  /** Resolves when the output matches; rejects when the process ends before. */
  printed(pattern: RegExp): Promise<void>;
}

const running = new Set<ChildProcess>();

afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts a TypeScript entry point under Node, in an environment of its own. */
export function start(
  entry: string,
  args: readonly string[],
  environment: Record<string, string> = {},
): Child {
  const { PATH = '', HOME = '' } = process.env;
  // Node itself, not the launcher around it: signals must reach the program.
  const child = spawn(process.execPath, [bundledEntry(entry), ...args], {
    cwd: root,
    env: { PATH, HOME, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  const watchers = new Set<() => void>();
  const state: Child = {
    process: child,
    out: '',
    err: '',
    ended: new Promise((resolve) => {
      child.on('close', (code, signal) => {
        running.delete(child);
        resolve(code ?? signal ?? 'unknown');
      });
    }),
    printed: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (pattern.test(state.out + state.err)) resolve();
        };
        watchers.add(look);
        look();
        void state.ended.then((code) => reject(new Error(`ended with ${code}: ${state.out}${state.err}`)));
      }),
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    state.out += text;
    for (const look of watchers) look();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    state.err += text;
    for (const look of watchers) look();
  });
  return state;
}

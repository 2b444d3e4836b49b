import { once } from 'node:events';
import { startPeer } from '../peers/cells.js';
import type { Era } from '../peers/wire-client.js';
import { PythonServer, type SdkVersion } from './python.js';

/** A real server of the interop tests. */
export interface InteropServer {
  readonly url: string;
  /** Resolves when a running `probe_slow` learns that its caller does not want it any more. */
  aborted(signal: AbortSignal): Promise<unknown>;
  /** How often `probe_steps` was begun. */
  runs(): number;
  close(): Promise<void>;
}

export interface ServerKind {
  readonly name: string;
  /** The name it gives itself. */
  readonly serverName: string;
  /** What can be had of it, by whomever; everything when absent. */
  readonly features?: readonly string[];
  /** Members of the configuration of the gateway in front of it. */
  readonly gateway?: Record<string, unknown>;
  start(): Promise<InteropServer>;
}

async function startPython(version: SdkVersion, ...args: string[]): Promise<InteropServer> {
  const server = await PythonServer.start(version, ...args);
  let runs = 0;
  server.told.on('run probe_steps', () => runs++);
  return {
    url: server.url,
    aborted: (signal) => once(server.told, 'aborted probe_slow', { signal }),
    runs: () => runs,
    close: () => server.close(),
  };
}

async function startTypeScript(era: Era): Promise<InteropServer> {
  const server = await startPeer(era);
  return {
    url: server.url,
    aborted: (signal) => once(server.log, 'aborted', { signal }),
    runs: () => server.log.runs.filter(({ name }) => name === 'probe_steps').length,
    close: () => server.close(),
  };
}

export const PYTHON_1: ServerKind = {
  name: 'Python 1.x server',
  serverName: 'python-v1',
  start: () => startPython('v1'),
};

export const PYTHON_1_WITH_STORE: ServerKind = {
  name: 'Python 1.x server with an event store',
  serverName: 'python-v1',
  start: () => startPython('v1', '--event-store'),
};

/** As many are deployed. It can tell and ask nothing outside its answers. */
export const PYTHON_1_STATELESS: ServerKind = {
  name: 'Python 1.x server, stateless',
  serverName: 'python-v1',
  features: [
    'introduction',
    'tools',
    'call',
    'structured',
    'tool_error',
    'resources',
    'missing_resource',
    'prompts',
    'completion',
    'at_once',
  ],
  start: () => startPython('v1', '--stateless'),
};

export const PYTHON_2: ServerKind = {
  name: 'Python 2.x server',
  serverName: 'python-v2',
  start: () => startPython('v2'),
};

export const TYPESCRIPT_1: ServerKind = {
  name: 'TypeScript SDK v1 server',
  serverName: 'legacy-peer',
  start: () => startTypeScript('legacy'),
};

export const TYPESCRIPT_2: ServerKind = {
  name: 'TypeScript SDK v2 server',
  serverName: 'modern-peer',
  start: () => startTypeScript('modern'),
};

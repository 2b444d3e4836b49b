import { BenchProcess } from './processes.js';
import type { UpstreamPair } from './upstream-pair.js';
import type { Era } from '../peers/wire-client.js';

/** What holds streams: the gateway in one of its cells, or the bare node:http server that is the floor. */
export interface StreamTarget {
  readonly name: string;
  /** What its clients open. */
  readonly kind: 'bare' | Era;
  readonly path: string;
  readonly upstream?: Era;
  /** A resource each client subscribes to. */
  readonly uri?: string;
}

export const BARE: StreamTarget = { name: 'bare node:http', kind: 'bare', path: '/' };

/** Where one upstream stream serves all clients: the eras differ. */
export const SHARED: readonly StreamTarget[] = [
  { name: 'legacy GET → modern', kind: 'legacy', path: '/mcp/modern', upstream: 'modern' },
  { name: 'modern listen → legacy', kind: 'modern', path: '/mcp/legacy', upstream: 'legacy' },
];

/** Where each client has an upstream stream of its own, which the gateway holds as well. */
export const PAIRED: readonly StreamTarget[] = [
  { name: 'legacy GET → legacy', kind: 'legacy', path: '/mcp/legacy', upstream: 'legacy' },
  { name: 'modern listen → modern', kind: 'modern', path: '/mcp/modern', upstream: 'modern' },
];

/**
 * The caps a single address meets long before the process does. All clients of the benchmark come from one address and
 * are anonymous, so what is said to be at its default elsewhere is raised here.
 */
const ROOM = {
  sessions: { max: 50_000, maxPerPrincipal: 50_000 },
  limits: { concurrentRequests: 10_000, concurrentPerPrincipal: 10_000 },
  maxCalls: 50_000,
};

/** The caps that were raised, for the result page. */
export const ROOM_TEXT =
  '`sessions.max`, `sessions.maxPerPrincipal`, `limits.concurrentRequests`, `limits.concurrentPerPrincipal` and `maxCalls` are raised, because all clients come from one address';

/** Starts the process of a target; resolves with it and its port. */
export async function startTarget(
  { kind }: StreamTarget,
  upstreams: UpstreamPair,
  flags: readonly string[],
  settings: object = {},
): Promise<{ process: BenchProcess; port: number }> {
  const process = await BenchProcess.start(
    kind === 'bare' ? 'sse-process.mjs' : 'gateway-process.mjs',
    flags,
  );
  return { process, port: await process.ask<number>('start', { ...upstreams.urls, ...ROOM, ...settings }) };
}

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MemoryStore } from '../../src/replay/memory-store.js';
import { RedisStore } from '../../src/replay/redis/redis-store.js';
import type { ReplayLimits } from '../../src/replay/replay-buffer.js';
import { SqliteStore } from '../../src/replay/sqlite/sqlite-store.js';
import type { Store } from '../../src/replay/store.js';
import { type RedisServer, startRedis } from '../peers/redis-server.js';
import { BUFFER_BYTES } from './paced-client.js';
import { type Place, type Reopening, type Step, World } from './stored-world.js';
import { temporaryFolder } from '../peers/temporary-folder.js';

const GENEROUS: ReplayLimits = {
  maxAgeMs: 1e9,
  maxEvents: 1e6,
  maxBytes: 1e9,
  maxTotalBytes: 1e9,
  streamBufferBytes: BUFFER_BYTES,
  retryMs: 1,
};
const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** What a process takes with it when it ends. */
interface Insides {
  readonly journal: { close(): void };
  readonly beat?: NodeJS.Timeout;
  readonly client?: { destroy(): void; del(key: string): Promise<unknown> };
  readonly database?: { close(): void };
  readonly options?: { readonly prefix: string; readonly instance: string };
}

function crash(store: Store): void {
  const { journal, beat, client, database } = store as unknown as Insides;
  journal.close();
  clearInterval(beat);
  client?.destroy();
  database?.close();
}

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const PLACES = {
  memory: (): Place => ({ open: async () => new MemoryStore(), crash: () => undefined }),
  sqlite: (): Place => {
    const path = join(temporaryFolder(), 'store.db');
    return { open: () => SqliteStore.open(path, silent), crash };
  },
  redis: (): Place => {
    const prefix = `t:${randomUUID()}`;
    const options = { url: redis.url, prefix, sessionTtlMs: 60_000, log: silent };
    return {
      open: () => RedisStore.open({ ...options, instance: randomUUID() }),
      crash,
      pronounceDead: async (store, by) => {
        const { instance } = (store as unknown as Insides).options ?? {};
        await (by as unknown as Insides).client?.del(`${prefix}:beat:${instance}`);
      },
    };
  },
};

const REOPENINGS: Readonly<Record<keyof typeof PLACES, readonly Reopening[]>> = {
  memory: [],
  sqlite: ['closed', 'crashed'],
  redis: ['closed', 'crashed', 'taken over'],
};

const slot = fc.nat({ max: 2 });
const of = <K extends Step['kind']>(kind: K) => fc.constant(kind);

function stepOf(reopenings: readonly Reopening[]): fc.Arbitrary<Step> {
  const said: fc.Arbitrary<Step> = fc.record({ kind: of('append'), slot, size: fc.nat({ max: 150 }) });
  const answered: fc.Arbitrary<Step> = fc.record({ kind: of('respond'), slot, size: fc.nat({ max: 300 }) });
  const moved: fc.Arbitrary<Step> = fc.record({
    kind: fc.constantFrom(
      'connect' as const,
      'connect' as const,
      'cut' as const,
      'read' as const,
      'read' as const,
    ),
    slot,
  });
  const passed = fc.constantFrom<Step>({ kind: 'flush' }, { kind: 'breathe' });
  const reopened = reopenings.map((how): Step => ({ kind: 'reopen', how }));
  const rare: fc.Arbitrary<Step> = fc.constantFrom<Step>({ kind: 'expire' }, ...reopened);
  return fc.oneof(
    { weight: 8, arbitrary: said },
    { weight: 2, arbitrary: answered },
    { weight: 1, arbitrary: fc.record({ kind: of('ask'), slot }) },
    { weight: 8, arbitrary: moved },
    { weight: 3, arbitrary: passed },
    { weight: 1, arbitrary: rare },
  );
}

const bounds = fc.record({
  maxEvents: fc.constantFrom(1e6, 24, 12, 6),
  maxBytes: fc.constantFrom(1e9, 3000, 1000),
});

const RUNS: Readonly<Record<keyof typeof PLACES, number>> = { memory: 300, sqlite: 80, redis: 60 };

describe.each(Object.keys(PLACES) as (keyof typeof PLACES)[])('X26 %s store', (kind) => {
  test('any interleaving of append, connect, disconnect, resume, evict, expire and reopen: the log, exactly once, or its error', async () => {
    const steps = fc.array(stepOf(REOPENINGS[kind]), { maxLength: 80, size: 'max' });
    await fc.assert(
      fc.asyncProperty(steps, bounds, async (played, limits) => {
        const world = await World.start(PLACES[kind](), { ...GENEROUS, ...limits });
        await world.play(played);
        await world.finish();
        expect(world.violations).toEqual([]);
      }),
      { numRuns: RUNS[kind] },
    );
  });
});

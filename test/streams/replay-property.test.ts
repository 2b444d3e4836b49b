import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EventIds } from '../../src/replay/event-id.js';
import { ReplayBuffer, type ReplayLimits, ReplayTotal } from '../../src/replay/replay-buffer.js';
import type { StoredEvent, StreamLog } from '../../src/replay/stream-log.js';
import { BUFFER_BYTES, PacedSink, ResumingClient } from './paced-client.js';

const GENEROUS: ReplayLimits = {
  maxAgeMs: 1e9,
  maxEvents: 1e6,
  maxBytes: 1e9,
  maxTotalBytes: 1e9,
  streamBufferBytes: BUFFER_BYTES,
  retryMs: 1,
};

type Step =
  | { readonly kind: 'append' | 'respond'; readonly stream: number; readonly size: number }
  | { readonly kind: 'connect' | 'cut' | 'read' | 'pin'; readonly stream: number };

const stream = fc.nat({ max: 2 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('append' as const), stream, size: fc.nat({ max: 150 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('respond' as const), stream, size: fc.nat({ max: 300 }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('connect' as const), stream }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('cut' as const), stream }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('read' as const), stream }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('pin' as const), stream }) },
);

interface World {
  readonly buffer: ReplayBuffer;
  readonly streams: StreamLog[];
  readonly clients: ResumingClient[];
  /** Everything ever appended, by stream. */
  readonly logs: { readonly data: string; readonly event: StoredEvent }[][];
}

function play(steps: readonly Step[], limits: ReplayLimits): World {
  const ids = new EventIds('e');
  const buffer = new ReplayBuffer(ids, limits, new ReplayTotal(), {
    detached: () => undefined,
    attached: () => undefined,
  });
  const streams = [0, 1, 2].map(() => buffer.open('post'));
  const clients = streams.map(({ id }) => new ResumingClient(ids.print({ stream: id, sequence: 0 })));
  const logs: World['logs'] = [[], [], []];
  const world = { buffer, streams, clients, logs };
  for (const [number, current] of steps.entries()) {
    const log = streams[current.stream];
    const client = clients[current.stream];
    if (log === undefined || client === undefined) continue;
    if (current.kind === 'connect') connectAgain(world, current.stream);
    else if (current.kind === 'cut') client.sink?.destroy();
    else if (current.kind === 'read') client.sink?.read();
    else if (log.endedAt === undefined) {
      const size = 'size' in current ? current.size : 1;
      const data = JSON.stringify({ number, fill: 'x'.repeat(size) });
      const event = log.append(data, {
        ...(current.kind === 'pin' && { pinned: true }),
        ...(current.kind === 'respond' && { request: String(current.stream) }),
      });
      logs[current.stream]?.push({ data, event });
      if (current.kind === 'respond') log.finish();
    }
    client.collect();
  }
  return world;
}

function connectAgain({ buffer, clients }: World, index: number): void {
  const client = clients[index];
  if (client === undefined) return;
  const place = buffer.find(client.cursor);
  if (place?.kind !== 'found') throw new Error('the place of a live stream was not found');
  const sink = new PacedSink();
  client.connect(sink);
  place.stream.attach(sink, place.after, false);
}

/** Lets every client read to the end of its stream. */
function settle(world: World): void {
  world.clients.forEach((client, index) => {
    connectAgain(world, index);
    for (let i = 0; i < 2000 && client.sink?.open === true && client.sink.bufferedBytes > 0; i++)
      client.sink.read();
    client.collect();
  });
}

test('X26 any interleaving of append, connect, read, cut: every client has its stream, exactly once, in order', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const world = play(steps, GENEROUS);
      settle(world);
      world.clients.forEach((client, index) => {
        expect(client.got).toEqual(world.logs[index]?.map(({ data }) => data));
      });
    }),
    { numRuns: 500 },
  );
});

test('X26 under any bound: in order, nothing twice, and what is missing is counted, or is an error for its request', () => {
  const bounds = fc.record({
    maxEvents: fc.integer({ min: 1, max: 12 }),
    maxBytes: fc.integer({ min: 50, max: 2000 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), bounds, (steps, { maxEvents, maxBytes }) => {
      const world = play(steps, { ...GENEROUS, maxEvents, maxBytes });
      settle(world);
      world.clients.forEach((client, index) => {
        const log = world.logs[index] ?? [];
        const order = log.map(({ data }) => data);
        const errors = client.got.filter((data) => data.includes('-31007'));
        const events = client.got.filter((data) => !data.includes('-31007'));
        expect(events).toEqual(order.filter((data) => events.includes(data)));
        const response = log.find(({ event }) => event.request !== undefined);
        if (response !== undefined) {
          // The response or an error in its place, exactly one of the two, and last.
          expect(errors.length + events.filter((data) => data === response.data).length).toBe(1);
          expect(client.got.at(-1)).toBe(errors[0] ?? response.data);
        } else {
          expect(errors).toEqual([]);
        }
      });
    }),
    { numRuns: 500 },
  );
});

test('X26 what is pinned goes last, and open questions after responses', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 10 }), (steps, maxEvents) => {
      const world = play(steps, { ...GENEROUS, maxEvents });
      const kept = world.streams.flatMap(({ events }) => events);
      expect(kept.length).toBeLessThanOrEqual(maxEvents);
      const all = world.logs.flat().map(({ event }) => event);
      const questions = all.filter((event) => event.pinned && event.request === undefined);
      const lostQuestions = questions.filter((event) => !kept.includes(event));
      const keptOthers = kept.filter((event) => !event.pinned);
      if (lostQuestions.length > 0) expect(keptOthers).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

test('X26 bytes and events are given back when a buffer is cleared or its streams expire', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.boolean(), (steps, cleared) => {
      const total = new ReplayTotal();
      const buffer = new ReplayBuffer(new EventIds('e'), { ...GENEROUS, maxAgeMs: 1000 }, total, {
        detached: () => undefined,
        attached: () => undefined,
      });
      for (const current of steps) {
        const log = buffer.open('post');
        if (current.kind === 'append') log.append('x'.repeat(current.size));
        else if (current.kind === 'respond') log.append('{}', { request: '1' });
        log.finish();
      }
      if (cleared) buffer.clear();
      else buffer.expire(Date.now() + 10_000);
      expect(total.bytes).toBe(0);
    }),
    { numRuns: 100 },
  );
});

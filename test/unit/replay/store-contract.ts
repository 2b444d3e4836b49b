import { describe, expect, test } from 'vitest';
import { EventIds } from '../../../src/replay/event-id.js';
import { recoverStream } from '../../../src/replay/recovery.js';
import { ReplayBuffer, type ReplayLimits, ReplayTotal } from '../../../src/replay/replay-buffer.js';
import type { Store, StoredSession } from '../../../src/replay/store.js';
import type { SessionRecord } from '../../../src/sessions/session-record.js';
import { closing } from '../../peers/closing.js';
import { RecordingSink } from './recording-sink.js';

export const LIMITS: ReplayLimits = {
  maxAgeMs: 60_000,
  maxEvents: 1000,
  maxBytes: 1_000_000,
  maxTotalBytes: 10_000_000,
  streamBufferBytes: 1_000_000,
  retryMs: 1000,
};

/** A place where a store can be opened again after it was closed. */
export interface Place {
  open(): Promise<Store>;
}

export const recordOf = (key: string, more: Partial<SessionRecord> = {}): SessionRecord => ({
  key,
  principal: { key: 'h:p', anonymous: false },
  upstreamName: 'default',
  client: { revision: 'r', capabilities: '{"x":1.10}', clientInfo: '{"name":"é\u2028"}', logLevel: 'info' },
  createdAt: 1000,
  upstreamState: '{"id":"u"}',
  advertised: { lists: ['tools'], subscribe: true },
  watched: ['file:///a'],
  ...more,
});

export function bufferOn(store: Store, session: string, limits: Partial<ReplayLimits> = {}): ReplayBuffer {
  const observer = { detached: () => undefined, attached: () => undefined };
  const ids = new EventIds(store.epoch);
  return new ReplayBuffer(ids, { ...LIMITS, ...limits }, new ReplayTotal(), observer, { store, session });
}

export async function loaded(store: Store, session: string): Promise<StoredSession> {
  const found = await store.load(session);
  if (found === undefined || 'heldBy' in found) throw new Error(`session ${session} is not there`);
  return found;
}

/** What every store does, whatever it survives. */
export function testStore(name: string, newPlace: () => Promise<Place> | Place): void {
  const started = async (session = 's') => {
    const place = await newPlace();
    const store = closing(await place.open());
    store.write({ kind: 'session', record: recordOf(session), at: 2000 });
    return { place, store, buffer: bufferOn(store, session) };
  };
  const settled = (store: Store) => store.drained(5000);

  describe(`${name}: live`, () => {
    test('events reach the connection in order, once, and the stream ends behind the last', async () => {
      const { store, buffer } = await started();
      const sink = new RecordingSink();
      const stream = buffer.open('post', ['1']);
      stream.attach(sink, 0, true);
      for (let i = 0; i < 50; i++) stream.append(`{"n":${i}}`);
      stream.append('{"r":1}', { request: '1' });
      stream.settle('1', true);
      stream.finish();
      await settled(store);
      const numbers = Array.from({ length: 50 }, (_, i) => `{"n":${i}}`);
      expect(sink.data).toEqual([...numbers, '{"r":1}']);
      expect(sink.text).toMatch(/^(?:retry: .*\n)?id: .*\n/);
      expect(sink.open).toBe(false);
    });

    test('a connection that comes while events are on their way gets each once', async () => {
      const { store, buffer } = await started();
      const first = new RecordingSink();
      const stream = buffer.open('post');
      stream.attach(first, 0, true);
      stream.append('"a"');
      await settled(store);
      stream.append('"b"');
      first.destroy();
      const second = new RecordingSink();
      const place = buffer.find(first.lastId);
      if (place?.kind !== 'found') throw new Error('not found');
      stream.append('"c"');
      place.stream.attach(second, place.after, false);
      stream.append('"d"');
      await settled(store);
      expect([...first.data, ...second.data]).toEqual(['"a"', '"b"', '"c"', '"d"']);
    });

    test('a response beyond the bounds still reaches whoever is there, and an error whoever comes later', async () => {
      const { store } = await started();
      const buffer = bufferOn(store, 's', { maxBytes: 100 });
      const sink = new RecordingSink();
      const stream = buffer.open('post', ['1']);
      stream.attach(sink, 0, true);
      await settled(store);
      const id = sink.lastId;
      const big = JSON.stringify('x'.repeat(500));
      stream.append(big, { request: '1' });
      stream.finish();
      await settled(store);
      expect(sink.data).toEqual([big]);
      const later = new RecordingSink();
      const place = buffer.find(id);
      if (place?.kind !== 'found') throw new Error('not found');
      place.stream.attach(later, place.after, false);
      expect(later.text).toContain('-31007');
    });

    test('ids of two sessions, and of two stores, are worth nothing to each other', async () => {
      const { store, buffer } = await started();
      const stream = buffer.open('post');
      const sink = new RecordingSink();
      stream.attach(sink, 0, true);
      await settled(store);
      expect(buffer.find(sink.lastId)).toBeDefined();
      expect(bufferOn(store, 'other').find(sink.lastId)).toBeUndefined();
      const other = closing(await (await newPlace()).open());
      expect(other.epoch).not.toBe(store.epoch);
    });
  });
}

/** What a store does besides that outlives its process. */
export function testPersistentStore(name: string, newPlace: () => Promise<Place> | Place): void {
  /** A session with its log, and the store closed and opened again behind it. */
  async function reopened(fill: (buffer: ReplayBuffer, store: Store) => void | Promise<void>) {
    const place = await newPlace();
    const before = await place.open();
    before.write({ kind: 'session', record: recordOf('s'), at: 2000 });
    const buffer = bufferOn(before, 's');
    await fill(buffer, before);
    await before.close();
    const store = closing(await place.open());
    return { place, before, store, session: await store.load('s') };
  }

  describe(`${name}: kept`, () => {
    test('the session as it was, and the epoch; the run is another', async () => {
      const { before, store, session } = await reopened((_, s) => {
        s.write({ kind: 'seen', session: 's', at: 5000 });
        s.write({ kind: 'seen', session: 's', at: 3000 });
        s.write({ kind: 'session', record: recordOf('s', { watched: ['b'] }), at: 9999 });
      });
      expect(session).toMatchObject({ record: recordOf('s', { watched: ['b'] }), streams: [] });
      expect(store.epoch).toBe(before.epoch);
      expect(store.run).not.toBe(before.run);
      expect(await store.load('t')).toBeUndefined();
    });

    test('a stream with its events, exactly, what was lost and what is open', async () => {
      const texts = ['{"a":1.10}', '{"b":"\u00e9\ud83d\ude00\\u0000"}', '{"c":9007199254740993}'];
      const { session } = await reopened((buffer) => {
        const stream = buffer.open('post', ['1', '"1"', '2', '3']);
        for (const text of texts) stream.append(text);
        const question = stream.append('{"q":1}', { pinned: true });
        stream.append('{"q":2}', { pinned: true });
        stream.unpin(question);
        stream.append('{"r":"1"}', { request: '"1"' });
        stream.settle('"1"', true);
        stream.settle('2', false);
      });
      const [stream] = (session as StoredSession).streams;
      expect(stream?.events.map(({ json }) => json)).toEqual([...texts, '{"q":1}', '{"q":2}', '{"r":"1"}']);
      expect(stream?.events.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(stream?.events.at(-1)).toMatchObject({ request: '"1"', pinned: true });
      expect(stream?.events[0]).toMatchObject({ pinned: false });
      expect(stream).toMatchObject({ kind: 'post', open: ['1', '3'], damaged: false, last: 6 });
      expect(stream?.endedAt).toBeUndefined();
    });

    test('what was dropped, shown, ended, forgotten', async () => {
      const { session } = await reopened((_, store) => {
        const stream = { session: 's', stream: 7 };
        const event = (sequence: number, request?: string) => ({
          sequence,
          json: `${sequence}`,
          at: 1,
          pinned: false,
          ...(request !== undefined && { request }),
        });
        store.write({ ...stream, kind: 'open', streamKind: 'standalone', requests: ['9'] });
        for (const n of [1, 2, 3, 4]) store.write({ ...stream, kind: 'event', event: event(n) });
        store.write({ ...stream, kind: 'event', event: event(5, '9') });
        store.write({ ...stream, kind: 'drop', events: [event(2), event(5, '9')] });
        store.write({ ...stream, kind: 'shown', sequence: 3 });
        store.write({ ...stream, kind: 'shown', sequence: 1 });
        store.write({ ...stream, kind: 'finish', at: 77 });
        store.write({ ...stream, stream: 8, kind: 'open', streamKind: 'post', requests: [] });
        store.write({ ...stream, stream: 8, kind: 'event', event: event(1) });
        store.write({ ...stream, stream: 8, kind: 'forget' });
        store.write({ ...stream, stream: 77, kind: 'open', streamKind: 'post', requests: [] });
        for (const n of [1, 2, 3]) store.write({ ...stream, stream: 77, kind: 'event', event: event(n) });
        store.write({ ...stream, stream: 77, kind: 'cut', after: 1 });
      });
      const { streams } = session as StoredSession;
      expect(streams.map(({ id }) => id)).toEqual([7, 77]);
      expect(streams[0]).toMatchObject({ shown: 3, last: 5, lastLost: 2, endedAt: 77, open: [] });
      expect(streams[0]?.lost).toEqual(new Map([['9', 5]]));
      expect(streams[0]?.events.map(({ sequence }) => sequence)).toEqual([1, 3, 4]);
      expect(streams[1]?.events.map(({ sequence }) => sequence)).toEqual([1]);
    });

    test('nothing of a session that ended', async () => {
      const { session, store } = await reopened((buffer, s) => {
        buffer.open('post', ['1']).append('"a"');
        s.write({ kind: 'end', session: 's' });
      });
      expect(session).toBeUndefined();
      store.write({ kind: 'session', record: recordOf('s'), at: 1 });
      await store.drained(5000);
      expect((await loaded(store, 's')).streams).toEqual([]);
    });

    test('no event reaches a client before it is kept', async () => {
      const place = await newPlace();
      const store = closing(await place.open());
      store.write({ kind: 'session', record: recordOf('s'), at: 1 });
      const sink = new RecordingSink();
      const stream = bufferOn(store, 's').open('post');
      stream.attach(sink, 0, true);
      stream.append('"a"');
      expect(sink.text).toBe('');
      await store.drained(5000);
      expect(sink.data).toEqual(['"a"']);
    });
  });

  describe(`${name}: recovered`, () => {
    test('the rest, then one error for each open request, however often it is recovered', async () => {
      const sink = new RecordingSink();
      const { place, store, session } = await reopened(async (buffer, before) => {
        const stream = buffer.open('post', ['1', '2']);
        stream.attach(sink, 0, true);
        stream.append('"a"');
        await before.drained(5000);
        stream.append('"b"');
        stream.append('"r1"', { request: '1' });
      });
      const seenUpTo = sink.events[0]?.[0] ?? '';
      const resume = (buffer: ReplayBuffer): string[] => {
        const found = buffer.find(seenUpTo);
        if (found?.kind !== 'found') throw new Error('not found');
        const later = new RecordingSink();
        found.stream.attach(later, found.after, false);
        expect(later.open).toBe(false);
        return later.data;
      };
      const buffer = bufferOn(store, 's');
      for (const stream of (session as StoredSession).streams) recoverStream(buffer, stream);
      await store.drained(5000);
      const first = resume(buffer);
      expect(first.slice(0, 2)).toEqual(['"b"', '"r1"']);
      expect(first).toHaveLength(3);
      expect(JSON.parse(first[2] ?? '')).toMatchObject({ id: 2, error: { code: -31003 } });
      await store.close();

      const third = closing(await place.open());
      const again = bufferOn(third, 's');
      for (const stream of (await loaded(third, 's')).streams) recoverStream(again, stream);
      await third.drained(5000);
      expect(resume(again)).toEqual(first);
    });

    test('a question of a call that is over is one event like any other, however often it is recovered', async () => {
      const { store, place } = await reopened((buffer) => {
        const stream = buffer.open('post', ['1']);
        stream.append('"q"', { pinned: true });
        stream.append('"r"', { request: '1' });
        stream.settle('1', true);
        stream.finish();
      });
      const recovered = async (from: Store) => {
        const buffer = bufferOn(from, 's');
        const [stored] = (await loaded(from, 's')).streams;
        if (stored === undefined) throw new Error('no stream');
        return recoverStream(buffer, stored)?.events.map(({ json, pinned }) => `${json} ${pinned}`);
      };
      expect(await recovered(store)).toEqual(['"q" false', '"r" true']);
      await store.close();
      expect(await recovered(closing(await place.open()))).toEqual(['"q" false', '"r" true']);
    });

    test('a standalone stream goes on: without an id from where the last connection was', async () => {
      const sink = new RecordingSink();
      const { store, session } = await reopened(async (buffer, before) => {
        const stream = buffer.open('standalone');
        stream.attachFresh(sink, true);
        stream.append('"a"');
        await before.drained(5000);
        sink.destroy();
        stream.append('"b"');
      });
      const buffer = bufferOn(store, 's');
      const [stored] = (session as StoredSession).streams;
      if (stored === undefined) throw new Error('no stream');
      const stream = recoverStream(buffer, stored);
      if (stream === undefined) throw new Error('not readable');
      const later = new RecordingSink();
      stream.attachFresh(later, true);
      stream.append('"c"');
      await store.drained(5000);
      expect(later.data).toEqual(['"b"', '"c"']);
      const ids = [...sink.events, ...later.events].map(([id]) => id);
      expect(new Set(ids).size).toBe(3);
    });
  });
}

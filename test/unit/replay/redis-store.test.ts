import { randomUUID } from 'node:crypto';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { recoverStream } from '../../../src/replay/recovery.js';
import { RedisStore } from '../../../src/replay/redis/redis-store.js';
import { StoreError } from '../../../src/replay/store.js';
import { closing } from '../../peers/closing.js';
import { type RedisServer, startRedis } from '../../peers/redis-server.js';
import { RecordingSink } from './recording-sink.js';
import { bufferOn, loaded, recordOf, testPersistentStore, testStore } from './store-contract.js';

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const newPlace = () => {
  const prefix = `t:${randomUUID()}`;
  return {
    prefix,
    open: () =>
      RedisStore.open({ url: redis.url, prefix, instance: randomUUID(), sessionTtlMs: 60_000, log: silent }),
  };
};

testStore('redis', newPlace);
testPersistentStore('redis', newPlace);

describe('redis: several instances', () => {
  test('a session is held by one of those that live, and goes over when it is gone', async () => {
    const place = newPlace();
    const a = await place.open();
    const b = closing(await place.open());
    a.write({ kind: 'session', record: recordOf('s'), at: 1 });
    await a.drained(5000);
    expect(await b.load('s')).toHaveProperty('heldBy');
    await a.close();
    expect((await loaded(b, 's')).record).toEqual(recordOf('s'));
    const c = closing(await place.open());
    expect(await c.load('s')).toHaveProperty('heldBy');
  });

  test('who was believed dead and is not: its changes are refused, and its clients told nothing', async () => {
    const place = newPlace();
    const a = closing(await place.open());
    const b = closing(await place.open());
    a.write({ kind: 'session', record: recordOf('s'), at: 1 });
    const sink = new RecordingSink();
    const stream = bufferOn(a, 's').open('post', ['1']);
    stream.attach(sink, 0, true);
    await a.drained(5000);
    const client = await createClient({ url: redis.url })
      .on('error', () => undefined)
      .connect();
    for await (const keys of client.scanIterator({ MATCH: `${place.prefix}:beat:*` })) {
      for (const key of keys) await client.del(key);
    }
    await loaded(b, 's');
    const lost: string[] = [];
    a.onLost = (session) => lost.push(session);
    a.write({ kind: 'seen', session: 's', at: 2 });
    await a.drained(5000);
    expect(lost).toEqual(['s']);
    client.destroy();
  });

  test('every key of a session expires', async () => {
    const place = newPlace();
    const store = closing(await place.open());
    store.write({ kind: 'session', record: recordOf('s'), at: 1 });
    bufferOn(store, 's').open('post', ['1']).append('"a"');
    await store.drained(5000);
    const client = await createClient({ url: redis.url })
      .on('error', () => undefined)
      .connect();
    let count = 0;
    for await (const keys of client.scanIterator({ MATCH: `${place.prefix}:*` })) {
      for (const key of keys) {
        count++;
        expect([key, (await client.pTTL(key)) > 0]).toEqual([key, true]);
      }
    }
    expect(count).toBe(7);
    client.destroy();
  });

  test('an answer that was lost: the same changes again double nothing', async () => {
    const place = newPlace();
    const store = closing(await place.open());
    store.write({ kind: 'session', record: recordOf('s'), at: 1 });
    const sink = new RecordingSink();
    const stream = bufferOn(store, 's').open('post', ['1']);
    stream.attach(sink, 0, true);
    await store.drained(5000);
    const { client } = store as unknown as { client: { eval: (...args: unknown[]) => Promise<unknown> } };
    const run = client.eval.bind(client);
    let failures = 2;
    client.eval = async (...args) => {
      const answer = await run(...args);
      if (failures-- > 0) throw new Error('the connection broke');
      return answer;
    };
    for (let i = 0; i < 10; i++) stream.append(`${i}`);
    await store.drained(5000);
    expect(sink.data).toEqual(Array.from({ length: 10 }, (_, i) => `${i}`));
    expect((await loaded(store, 's')).streams[0]?.events).toHaveLength(10);
  });
});

describe('redis: what is not what was written', () => {
  const admin = async () =>
    closing(
      await createClient({ url: redis.url })
        .on('error', () => undefined)
        .connect(),
    );

  /** A session whose stream has an event that was told and an open request; its process has ended. */
  async function left() {
    const place = newPlace();
    const store = await place.open();
    store.write({ kind: 'session', record: recordOf('s'), at: 1 });
    const sink = new RecordingSink();
    const stream = bufferOn(store, 's').open('post', ['1']);
    stream.attach(sink, 0, true);
    stream.append('"a"');
    await store.close();
    const key = (name: string) => `${place.prefix}:{s}:${name}`;
    return {
      place,
      key,
      log: key(`log:${stream.id}`),
      number: stream.id,
      id: sink.lastId,
      client: await admin(),
    };
  }

  /** What a client gets that comes back with the id; undefined when the id is unknown. */
  async function resumed(place: ReturnType<typeof newPlace>, id: string): Promise<unknown[] | undefined> {
    const store = await place.open();
    const buffer = bufferOn(store, 's');
    for (const stream of (await loaded(store, 's')).streams) recoverStream(buffer, stream);
    const later = buffer.open('post', ['2']);
    later.append('"later"');
    await store.drained(5000);
    // Whatever was there, changes are taken.
    expect(store.available).toBe(true);
    expect(later.events.map(({ json }) => json)).toEqual(['"later"']);
    const found = buffer.find(id);
    const sink = new RecordingSink();
    if (found?.kind === 'found') found.stream.attach(sink, found.after, false);
    await store.close();
    if (found === undefined) return undefined;
    return sink.data.map((text) => JSON.parse(text));
  }

  const failed = [expect.objectContaining({ id: 1, error: expect.objectContaining({ code: -31003 }) })];

  test('a garbage record in a log: an error for the request', async () => {
    const { place, log, id, client } = await left();
    await client.xAdd(log, '7-0', { noise: 'x' });
    await client.xAdd(log, '8-0', { json: '"b"', at: '1', pinned: '0', request: '', checksum: '5' });
    expect(await resumed(place, id)).toEqual(failed);
    expect(await resumed(place, id)).toEqual(failed);
  });

  test('something else in place of a log: an error for the request', async () => {
    const { place, log, id, client } = await left();
    await client.set(log, 'garbage');
    expect(await resumed(place, id)).toEqual(failed);
  });

  test.each([
    ['requests', '{'],
    ['requests', '[1]'],
    ['kind', 'of another version'],
    ['last', 'x'],
    ['lost 1', '-1'],
  ])('garbage in what describes a stream (%s: %s): its ids are unknown', async (field, value) => {
    const { place, key, number, id, client } = await left();
    await client.hSet(key('streams'), `${number} ${field}`, value);
    expect(await resumed(place, id)).toBeUndefined();
  });

  test('something else in place of the descriptions: all ids are unknown', async () => {
    const { place, key, id, client } = await left();
    await client.set(key('streams'), 'garbage');
    expect(await resumed(place, id)).toBeUndefined();
  });

  test.each(['{"v":2}', 'garbage'])(
    'a session record that is none (%s): there is no such session',
    async (text) => {
      const { place, key, client } = await left();
      await client.hSet(key('session'), 'record', text);
      expect(await closing(await place.open()).load('s')).toBeUndefined();
      await client.set(key('session'), text);
      expect(await closing(await place.open()).load('s')).toBeUndefined();
    },
  );

  test.each([
    ['layout', '2'],
    ['epoch', 'a.b'],
    ['runs', 'many'],
  ])('%s of another program or version: a start-up error that names the prefix', async (name, value) => {
    const { place, client } = await left();
    await client.set(`${place.prefix}:${name}`, value);
    const error = await place.open().catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(StoreError);
    expect((error as Error).message).toContain(place.prefix);
  });
});

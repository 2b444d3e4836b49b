import { randomUUID } from 'node:crypto';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RedisStore } from '../../../src/replay/redis/redis-store.js';
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
    expect(count).toBe(6);
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

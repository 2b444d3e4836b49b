import { copyFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test, vi } from 'vitest';
import { recoverStream } from '../../../src/replay/recovery.js';
import { SqliteStore } from '../../../src/replay/sqlite/sqlite-store.js';
import { StoreError } from '../../../src/replay/store.js';
import { closing } from '../../peers/closing.js';
import { RecordingSink } from './recording-sink.js';
import { bufferOn, loaded, recordOf, testPersistentStore, testStore } from './store-contract.js';
import { temporaryFolder } from '../../peers/temporary-folder.js';

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
const newFile = () => join(temporaryFolder(), 'store.db');
const newPlace = () => {
  const path = newFile();
  return { open: () => SqliteStore.open(path, silent) };
};

testStore('sqlite', newPlace);
testPersistentStore('sqlite', newPlace);

/** A file with one session whose stream has three events and one open request. */
async function filled(): Promise<{ path: string; id: string }> {
  const path = newFile();
  const store = await SqliteStore.open(path, silent);
  store.write({ kind: 'session', record: recordOf('s'), at: Date.now() });
  const sink = new RecordingSink();
  const stream = bufferOn(store, 's').open('post', ['1']);
  stream.attach(sink, 0, true);
  for (const text of ['"a"', '"b"', '"c"']) stream.append(text);
  await store.close();
  return { path, id: sink.events[0]?.[0] ?? '' };
}

describe('sqlite: the file', () => {
  test('is for its owner only', async () => {
    const { path } = await filled();
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test.each([
    ['no database', (path: string) => writeFileSync(path, 'x'.repeat(5000)), /is damaged/],
    ['cut short', (path: string) => truncateSync(path, statSync(path).size - 5000), /is damaged/],
    [
      'overwritten in the middle',
      (path: string) => {
        const bytes = readFileSync(path);
        bytes.fill(0xff, 4096, 12_288);
        writeFileSync(path, bytes);
      },
      /is damaged/,
    ],
    [
      'of another program',
      (path: string) => {
        const other = new Database(path);
        other.exec('DROP TABLE meta; PRAGMA user_version = 99');
        other.close();
      },
      /another program or version/,
    ],
    ['cut to a few bytes', (path: string) => truncateSync(path, 100), /is damaged/],
    [
      'with a garbage count of runs',
      (path: string) => {
        const database = new Database(path);
        database.prepare("UPDATE meta SET value = 'many' WHERE name = 'run'").run();
        database.close();
      },
      /is damaged/,
    ],
  ])('%s: a start-up error that names it', async (_, spoil, message) => {
    const { path } = await filled();
    spoil(path);
    const error = await SqliteStore.open(path, silent).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(StoreError);
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message).toContain(path);
  });

  test('in a folder that does not exist: a start-up error', async () => {
    await expect(SqliteStore.open('/nonexistent/folder/store.db', silent)).rejects.toThrow(
      /cannot be opened/,
    );
  });

  test('in use by another: a start-up error', async () => {
    const path = newFile();
    closing(await SqliteStore.open(path, silent));
    await expect(SqliteStore.open(path, silent)).rejects.toThrow(/in use by another process/);
  });

  test('the package is missing: a start-up error that names it', async () => {
    vi.doMock('better-sqlite3', () => {
      throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
    });
    vi.resetModules();
    const fresh = await import('../../../src/replay/sqlite/sqlite-store.js');
    await expect(fresh.SqliteStore.open(newFile(), silent)).rejects.toThrow(/npm install better-sqlite3/);
    vi.doUnmock('better-sqlite3');
  });

  test('an event that is not what was written: an error for the request, never a gap', async () => {
    const { path, id } = await filled();
    const database = new Database(path);
    database.prepare('UPDATE events SET json = \'"B"\' WHERE sequence = 2').run();
    database.close();
    const store = closing(await SqliteStore.open(path, silent));
    const buffer = bufferOn(store, 's');
    for (const stream of (await loaded(store, 's')).streams) recoverStream(buffer, stream);
    await store.drained(5000);
    const place = buffer.find(id);
    if (place?.kind !== 'found') throw new Error('not found');
    const sink = new RecordingSink();
    place.stream.attach(sink, place.after, false);
    expect(sink.data).toHaveLength(1);
    expect(JSON.parse(sink.data[0] ?? '')).toMatchObject({ id: 1, error: { code: -31003 } });
    // The next run finds a whole log.
    expect((await loaded(store, 's')).streams[0]).toMatchObject({ damaged: false, open: [] });
  });

  test.each([
    ['requests', '{'],
    ['kind', 'of another version'],
    ['lost', '{"1":"x"}'],
    ['last', -1],
  ])(
    'garbage in what describes a stream (%s: %s): its ids are unknown, and changes are taken',
    async (column, value) => {
      const { path, id } = await filled();
      const database = new Database(path);
      database.prepare(`UPDATE streams SET ${column} = ?`).run(value);
      database.close();
      const store = closing(await SqliteStore.open(path, silent));
      const buffer = bufferOn(store, 's');
      for (const stream of (await loaded(store, 's')).streams) recoverStream(buffer, stream);
      buffer.open('post', ['2']).append('"later"');
      await store.drained(5000);
      expect(store.available).toBe(true);
      expect(buffer.find(id)).toBeUndefined();
    },
  );

  test('a log of the last writes that was cut short: what a client was told of it is behind it, and comes to no other event', async () => {
    const path = newFile();
    const first = await SqliteStore.open(path, silent);
    first.write({ kind: 'session', record: recordOf('s'), at: Date.now() });
    const sink = new RecordingSink();
    const stream = bufferOn(first, 's').open('post', ['1']);
    stream.attach(sink, 0, true);
    for (let i = 0; i < 200; i++) {
      stream.append(JSON.stringify(`${i} ${'x'.repeat(1000)}`));
      if (i % 20 === 0) await first.drained(5000);
    }
    await first.drained(5000);
    const crashed = newFile();
    copyFileSync(path, crashed);
    copyFileSync(`${path}-wal`, `${crashed}-wal`);
    await first.close();
    truncateSync(`${crashed}-wal`, Math.floor(statSync(`${crashed}-wal`).size * 0.6));
    const store = closing(await SqliteStore.open(crashed, silent));
    const buffer = bufferOn(store, 's');
    const { streams } = await loaded(store, 's');
    expect(streams[0]?.events.length).toBeGreaterThan(0);
    expect(streams[0]?.events.length).toBeLessThan(200);
    for (const stored of streams) recoverStream(buffer, stored);
    await store.drained(5000);
    const place = buffer.find(sink.lastId);
    if (place?.kind !== 'found') throw new Error('not found');
    const later = new RecordingSink();
    place.stream.attach(later, place.after, false);
    expect(later.data.map((text) => JSON.parse(text))).toMatchObject([{ id: 1, error: { code: -31003 } }]);
  });

  test('a full disk: nothing is told to clients until it is kept, then everything, in order', async () => {
    const path = newFile();
    const store = closing(await SqliteStore.open(path, silent));
    store.write({ kind: 'session', record: recordOf('s'), at: 1 });
    const sink = new RecordingSink();
    const stream = bufferOn(store, 's').open('post');
    stream.attach(sink, 0, true);
    await store.drained(5000);
    const { database } = store as unknown as { database: import('better-sqlite3').Connection };
    const pages = database.pragma('page_count', { simple: true }) as number;
    database.pragma(`max_page_count = ${pages}`);
    const big = JSON.stringify('x'.repeat(100_000));
    stream.append(big);
    stream.append('"after"');
    await expect.poll(() => store.available).toBe(false);
    expect(sink.data).toEqual([]);
    database.pragma('max_page_count = 1000000');
    await expect.poll(() => store.available, { timeout: 5000 }).toBe(true);
    await store.drained(5000);
    expect(sink.data).toEqual([big, '"after"']);
  });
});

import { closeSync, openSync } from 'node:fs';
import type { Connection } from 'better-sqlite3';
import { optionalPackage } from '../optional-package.js';
import { StoreError } from '../store.js';

/** How long a second process waits for the first to let go of the file, in milliseconds. */
const LOCK_MS = 5000;
const SCHEMA_VERSION = 1;

const SCHEMA = `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE sessions (key TEXT PRIMARY KEY, record TEXT NOT NULL, created INTEGER NOT NULL, seen INTEGER NOT NULL)
    WITHOUT ROWID;
  CREATE TABLE streams (
    id INTEGER PRIMARY KEY, session TEXT NOT NULL, kind TEXT NOT NULL, requests TEXT NOT NULL,
    lost TEXT NOT NULL DEFAULT '{}', last_lost INTEGER NOT NULL DEFAULT 0, last INTEGER NOT NULL DEFAULT 0,
    shown INTEGER NOT NULL DEFAULT 0, ended INTEGER);
  CREATE INDEX streams_of_session ON streams (session);
  CREATE TABLE events (
    stream INTEGER NOT NULL, sequence INTEGER NOT NULL, at INTEGER NOT NULL, pinned INTEGER NOT NULL, request TEXT,
    json TEXT NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY (stream, sequence)) WITHOUT ROWID;
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/**
 * Opens the file, for this process alone, and checks that it is whole.
 * @throws StoreError the package is missing, the file cannot be opened, is in use, is damaged or is none of ours
 */
export async function openDatabase(path: string): Promise<Connection> {
  const { default: Database } = await optionalPackage(
    'better-sqlite3',
    'sqlite',
    () => import('better-sqlite3'),
  );
  let database: Connection | undefined;
  try {
    // What clients were sent is nobody else's business on this machine.
    closeSync(openSync(path, 'a', 0o600));
    database = new Database(path, { timeout: LOCK_MS });
    // One process, and no shared memory file beside the log.
    database.pragma('locking_mode = EXCLUSIVE');
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = NORMAL');
    database.pragma('journal_size_limit = 67108864');
    prepare(database, path);
    return database;
  } catch (cause) {
    database?.close();
    throw cause instanceof StoreError ? cause : new StoreError(explain(path, cause), { cause });
  }
}

function prepare(database: Connection, path: string): void {
  const version = database.pragma('user_version', { simple: true });
  const tables = database.prepare('SELECT count(*) AS n FROM sqlite_schema').get() as { n: number };
  if (version === 0 && tables.n === 0) {
    database.exec(`BEGIN IMMEDIATE; ${SCHEMA} COMMIT;`);
    return;
  }
  if (version !== SCHEMA_VERSION) {
    throw new StoreError(`${path} is a database of another program or version: name another file`);
  }
  const verdict = database.pragma('quick_check(1)', { simple: true });
  if (verdict !== 'ok') throw new StoreError(damaged(path, String(verdict)));
}

function explain(path: string, cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const problem = cause instanceof Error ? cause.message : 'unknown';
  if (code === 'SQLITE_BUSY')
    return `${path} is in use by another process: each gateway needs a file of its own`;
  if (/^SQLITE_(?:CORRUPT|NOTADB|IOERR_SHORT_READ)/.test(code)) return damaged(path, problem);
  return `the store file ${path} cannot be opened: ${problem}`;
}

/** What to do about a file that cannot be used. */
export function damaged(path: string, problem: string): string {
  const way = 'move it away to start with an empty one; clients will then have to begin new sessions';
  return `the store file ${path} is damaged (${problem.split('\n')[0] ?? ''}): ${way}`;
}

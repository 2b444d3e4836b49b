import type { Connection, Statement } from 'better-sqlite3';
import { readSession } from '../../sessions/session-record.js';
import { checksum } from '../checksum.js';
import type { StoredSession, StoredStream } from '../store.js';
import { type StreamRow, isCount, storedStream } from '../stored-stream.js';

interface EventRow {
  readonly sequence: number;
  readonly at: number;
  readonly pinned: number;
  readonly request: string | null;
  readonly json: string;
  readonly checksum: number;
}

/** Reads sessions back from the database. */
export class SqliteSessions {
  private readonly session: Statement;
  private readonly streams: Statement;
  private readonly events: Statement;

  constructor(database: Connection) {
    this.session = database.prepare('SELECT record, seen FROM sessions WHERE key = ?');
    this.streams = database.prepare(
      'SELECT id, kind, requests, lost, last, last_lost AS lastLost, shown, ended FROM streams WHERE session = ? ORDER BY id',
    );
    this.events = database.prepare(
      'SELECT sequence, at, pinned, request, json, checksum FROM events WHERE stream = ? ORDER BY sequence',
    );
  }

  /** Undefined when the session is not there, or its record is not readable: its client begins a new one. */
  load(key: string): StoredSession | undefined {
    const row = this.session.get(key) as { record: string; seen: number } | undefined;
    const record = row && readSession(row.record);
    if (row === undefined || record === undefined) return undefined;
    const streams = (this.streams.all(key) as StreamRow[]).map((stream) => this.stream(stream));
    return { record, lastSeen: row.seen, streams };
  }

  private stream(row: StreamRow): StoredStream {
    const rows = this.events.all(row.id) as EventRow[];
    const events = rows.map(({ pinned, request, checksum: expected, ...event }) =>
      typeof event.json === 'string' && checksum(event.json) === expected && isCount(event.at)
        ? { ...event, pinned: pinned === 1, ...(request !== null && { request }) }
        : undefined,
    );
    return storedStream(row, events);
  }
}

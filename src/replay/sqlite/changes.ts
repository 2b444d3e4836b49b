import type { Connection, Statement } from 'better-sqlite3';
import { printSession } from '../../sessions/session-record.js';
import { checksum } from '../checksum.js';
import type { Change, StreamChange } from '../store.js';

type ChangeOf<K extends Change['kind']> = Extract<Change, { kind: K }>;

/** Writes changes to the database, each batch in one transaction. */
export class SqliteChanges {
  private readonly statements = new Map<string, Statement>();

  constructor(private readonly database: Connection) {}

  /** Keeps all of the changes or none. @throws SqliteError the disk is full, or another failure of the system */
  commit(changes: readonly Change[]): void {
    this.run('BEGIN IMMEDIATE');
    try {
      for (const change of changes) this.apply(change);
      this.run('COMMIT');
    } catch (error) {
      this.database.exec('ROLLBACK');
      throw error;
    }
  }

  private apply(change: Change): void {
    switch (change.kind) {
      case 'session': {
        const { record, at } = change;
        this.run(
          'INSERT INTO sessions VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET record = excluded.record',
          record.key,
          printSession(record),
          record.createdAt,
          at,
        );
        return;
      }
      case 'seen':
        this.run('UPDATE sessions SET seen = max(seen, ?) WHERE key = ?', change.at, change.session);
        return;
      case 'end':
        this.end(change.session);
        return;
      case 'expire': {
        const old = this.prepared('SELECT key FROM sessions WHERE seen < ? OR created < ?');
        const keys = old.all(change.seenBefore, change.createdBefore) as { key: string }[];
        for (const { key } of keys) this.end(key);
        return;
      }
      default:
        this.applyToStream(change);
    }
  }

  private applyToStream(change: StreamChange): void {
    const { stream } = change;
    switch (change.kind) {
      case 'open':
        this.run(
          'INSERT INTO streams (id, session, kind, requests) VALUES (?, ?, ?, ?)',
          stream,
          change.session,
          change.streamKind,
          JSON.stringify(change.requests),
        );
        return;
      case 'event': {
        const { sequence, at, pinned, request, json } = change.event;
        const values = [stream, sequence, at, pinned ? 1 : 0, request ?? null, json];
        this.run('INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)', ...values, checksum(json));
        return;
      }
      case 'unpin':
        this.run('UPDATE events SET pinned = 0 WHERE stream = ? AND sequence = ?', stream, change.sequence);
        return;
      case 'settle':
        this.edit(stream, 'requests', (requests: string[]) => requests.filter((id) => id !== change.request));
        return;
      case 'drop':
        this.drop(change);
        return;
      case 'shown':
        this.run('UPDATE streams SET shown = max(shown, ?) WHERE id = ?', change.sequence, stream);
        return;
      case 'finish':
        this.run('UPDATE streams SET ended = ? WHERE id = ?', change.at, stream);
        return;
      case 'cut':
        this.run('DELETE FROM events WHERE stream = ? AND sequence > ?', stream, change.after);
        return;
      case 'forget':
        this.run('DELETE FROM events WHERE stream = ?', stream);
        this.run('DELETE FROM streams WHERE id = ?', stream);
    }
  }

  private drop({ stream, events }: ChangeOf<'drop'>): void {
    let last = 0;
    let lastLost = 0;
    const lost: Record<string, number> = {};
    for (const { sequence, request } of events) {
      this.run('DELETE FROM events WHERE stream = ? AND sequence = ?', stream, sequence);
      last = Math.max(last, sequence);
      if (request === undefined) lastLost = Math.max(lastLost, sequence);
      else lost[request] = sequence;
    }
    const mark = 'UPDATE streams SET last = max(last, ?), last_lost = max(last_lost, ?) WHERE id = ?';
    this.run(mark, last, lastLost, stream);
    if (Object.keys(lost).length > 0) {
      this.edit(stream, 'lost', (before: Record<string, number>) => ({ ...before, ...lost }));
    }
  }

  private end(session: string): void {
    this.run('DELETE FROM events WHERE stream IN (SELECT id FROM streams WHERE session = ?)', session);
    this.run('DELETE FROM streams WHERE session = ?', session);
    this.run('DELETE FROM sessions WHERE key = ?', session);
  }

  private edit<T>(stream: number, column: 'requests' | 'lost', change: (before: T) => T): void {
    const row = this.prepared(`SELECT ${column} AS value FROM streams WHERE id = ?`).get(stream);
    if (row === undefined) return;
    const before = JSON.parse((row as { value: string }).value) as T;
    this.run(`UPDATE streams SET ${column} = ? WHERE id = ?`, JSON.stringify(change(before)), stream);
  }

  private run(text: string, ...values: unknown[]): void {
    this.prepared(text).run(...values);
  }

  private prepared(text: string): Statement {
    let statement = this.statements.get(text);
    if (statement === undefined) {
      statement = this.database.prepare(text);
      this.statements.set(text, statement);
    }
    return statement;
  }
}

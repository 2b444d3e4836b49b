import type { Connection } from 'better-sqlite3';
import { GATEWAY_CODE, GatewayError } from '../../errors/gateway-error.js';
import type { Logger } from '../../telemetry/logger.js';
import { Journal } from '../journal.js';
import { newEpoch } from '../memory-store.js';
import { type Change, type Store, StoreError, type StoredSession } from '../store.js';
import { isCount } from '../stored-stream.js';
import { SqliteChanges } from './changes.js';
import { damaged, openDatabase } from './database.js';
import { SqliteSessions } from './sessions.js';

/** How long closing waits for the last changes, in milliseconds. */
const CLOSE_MS = 2000;

/** Sessions and logs in a file: they survive the process, a killed one too. */
export class SqliteStore implements Store {
  readonly persistent = true;
  onLost: Store['onLost'] = () => undefined;
  private readonly journal: Journal;
  private readonly sessions: SqliteSessions;

  private constructor(
    private readonly database: Connection,
    readonly epoch: string,
    readonly run: number,
    log: Logger,
  ) {
    const changes = new SqliteChanges(database);
    this.journal = new Journal((batch) => changes.commit(batch), log);
    this.sessions = new SqliteSessions(database);
  }

  /**
   * @param path the file; made when it does not exist, its folder must
   * @throws StoreError it cannot be opened, is in use or damaged, or the package is missing
   */
  static async open(path: string, log: Logger): Promise<SqliteStore> {
    const database = await openDatabase(path);
    const meta = (name: string, first: string) => {
      database.prepare('INSERT OR IGNORE INTO meta VALUES (?, ?)').run(name, first);
      return (database.prepare('SELECT value FROM meta WHERE name = ?').get(name) as { value: string }).value;
    };
    const epoch = meta('epoch', newEpoch());
    const run = Number(meta('run', '0')) + 1;
    if (!isCount(run) || !/^[\x21-\x2d\x2f-\x7e]{1,64}$/.test(epoch)) {
      database.close();
      throw new StoreError(damaged(path, 'its own record cannot be read'));
    }
    database.prepare("UPDATE meta SET value = ? WHERE name = 'run'").run(String(run));
    return new SqliteStore(database, epoch, run, log);
  }

  get available(): boolean {
    return !this.journal.failing;
  }

  get full(): boolean {
    return this.journal.full;
  }

  write(change: Change, kept?: () => void): boolean {
    this.journal.write(change, kept);
    return false;
  }

  load(session: string): Promise<StoredSession | undefined> {
    try {
      return Promise.resolve(this.sessions.load(session));
    } catch (cause) {
      const text = 'the store of sessions cannot be read';
      return Promise.reject(new GatewayError(GATEWAY_CODE.storeUnavailable, text, { status: 503, cause }));
    }
  }

  drained(ms: number): Promise<void> {
    return this.journal.drained(ms);
  }

  async close(): Promise<void> {
    await this.journal.drained(CLOSE_MS);
    this.journal.close();
    this.database.close();
  }
}

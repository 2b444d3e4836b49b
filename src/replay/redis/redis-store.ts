import { GATEWAY_CODE, GatewayError } from '../../errors/gateway-error.js';
import type { Logger } from '../../telemetry/logger.js';
import { readSession } from '../../sessions/session-record.js';
import { Journal } from '../journal.js';
import type { Change, Store, StoredSession } from '../store.js';
import { APPLY_SCRIPT, CLAIM_SCRIPT } from './apply-script.js';
import { type RedisClient, connect, within } from './connection.js';
import { operationsOf } from './operations.js';
import { SHARED_TTL_MS, isOfAnotherType, joinShared } from './shared-keys.js';
import { type LogEntry, UNREADABLE_LOG, readStream, streamNumbers } from './stream-fields.js';

/** How often an instance shows that it lives, and how long others believe it, in milliseconds. */
const BEAT_MS = 1000;
const BELIEF_MS = 4000;
/** How long a command may take before Redis counts as gone, in milliseconds. */
const COMMAND_MS = 2000;
/** How long closing waits for the last changes, in milliseconds. */
const CLOSE_MS = 2000;

export interface RedisStoreOptions {
  readonly url: string;
  /** Begins the names of all keys. */
  readonly prefix: string;
  /** Names this run of this process among all there are and were. */
  readonly instance: string;
  /** How long a session that nobody touches is kept, in milliseconds. */
  readonly sessionTtlMs: number;
  readonly log: Logger;
}

/**
 * Sessions and logs in Redis: they survive their process, and another instance goes on with them. One instance holds a
 * session at a time; one that was believed dead and is not finds its changes refused.
 */
export class RedisStore implements Store {
  readonly persistent = true;
  onLost: (session: string) => void = () => undefined;
  private readonly journal: Journal;
  private readonly beat: NodeJS.Timeout;

  private constructor(
    private readonly client: RedisClient,
    private readonly options: RedisStoreOptions,
    readonly epoch: string,
    readonly run: number,
  ) {
    this.journal = new Journal((changes) => this.commit(changes), options.log);
    this.beat = setInterval(() => void this.live().catch(() => undefined), BEAT_MS);
    this.beat.unref();
  }

  /** @throws StoreError the package is missing, the server cannot be reached, or what is there is not ours */
  static async open(options: RedisStoreOptions): Promise<RedisStore> {
    const client = await connect(options.url, options.log);
    const { epoch, run } = await joinShared(client, options.prefix).catch((error: unknown) => {
      client.destroy();
      throw error;
    });
    const store = new RedisStore(client, options, epoch, run);
    await store.live();
    return store;
  }

  get available(): boolean {
    return this.client.isReady && !this.journal.failing;
  }

  get full(): boolean {
    return this.journal.full;
  }

  write(change: Change, kept?: () => void): boolean {
    this.journal.write(change, kept);
    return false;
  }

  /** Reads a session and takes it over, unless another instance that lives holds it. */
  async load(session: string): Promise<StoredSession | { readonly heldBy: string } | undefined> {
    try {
      return await within(COMMAND_MS, this.claim(session));
    } catch (cause) {
      throw new GatewayError(
        GATEWAY_CODE.storeUnavailable,
        'the store of sessions cannot be reached; try again',
        {
          status: 503,
          headers: { 'Retry-After': '1' },
          cause,
        },
      );
    }
  }

  drained(ms: number): Promise<void> {
    return this.journal.drained(ms);
  }

  async close(): Promise<void> {
    await this.journal.drained(CLOSE_MS);
    this.journal.close();
    clearInterval(this.beat);
    const gone = this.client.isReady ? this.client.del(this.beatKey(this.options.instance)) : undefined;
    if (gone !== undefined) await within(COMMAND_MS, gone).catch(() => undefined);
    this.client.destroy();
  }

  private async claim(session: string): Promise<StoredSession | { readonly heldBy: string } | undefined> {
    const { client } = this;
    const { instance } = this.options;
    const reply = await this.readable(
      client.eval(CLAIM_SCRIPT, {
        keys: [this.sessionKey(session)],
        arguments: [instance, this.beatKey('')],
      }) as Promise<[string, string, string] | null>,
      null,
    );
    if (reply === null) return undefined;
    if (reply[0] === 'held') return { heldBy: reply[1] };
    const record = readSession(reply[1]);
    if (record === undefined) return undefined;
    const fields = await this.readable(client.hGetAll(this.streamsKey(session)), undefined);
    // It would refuse every later change as well, and hold up those of all other sessions.
    if (fields === undefined) await client.del(this.streamsKey(session));
    const streams = await Promise.all(
      streamNumbers(fields ?? {}).map(async (id) => {
        const log = client.xRange(`${this.logPrefix(session)}${id}`, '-', '+');
        return readStream(
          id,
          fields ?? {},
          (await this.readable<LogEntry[] | null>(log, UNREADABLE_LOG)) ?? [],
        );
      }),
    );
    return { record, lastSeen: Number(reply[2]), streams };
  }

  /** What was asked for, or `otherwise` when the key holds something that nobody here wrote. */
  private async readable<T>(answer: Promise<T>, otherwise: T): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (!isOfAnotherType(error)) throw error;
      this.options.log.error({}, 'a key in Redis is not what was written; what it held is lost');
      return otherwise;
    }
  }

  private async commit(changes: readonly Change[]): Promise<void> {
    const groups = operationsOf(changes).filter(({ words }) => words.length > 0);
    if (!this.client.isReady) throw new Error('not connected to Redis');
    const { instance, sessionTtlMs } = this.options;
    const replies = await within(
      COMMAND_MS,
      Promise.all(
        groups.map(({ session, words }) =>
          this.client.eval(APPLY_SCRIPT, {
            keys: [this.sessionKey(session), this.streamsKey(session)],
            arguments: [instance, String(sessionTtlMs), this.logPrefix(session), ...words],
          }),
        ),
      ),
    );
    for (const [index, { session }] of groups.entries()) if (replies[index] === 0) this.onLost(session);
  }

  /** Shows that this instance lives, and that what is stored is what it was. */
  private async live(): Promise<void> {
    const { client, epoch } = this;
    if (!client.isReady) return;
    const { prefix, instance } = this.options;
    const shared = { type: 'PX', value: SHARED_TTL_MS } as const;
    await client
      .multi()
      .set(this.beatKey(instance), '1', { expiration: { type: 'PX', value: BELIEF_MS } })
      .set(`${prefix}:epoch`, epoch, { condition: 'NX', expiration: shared })
      .pExpire(`${prefix}:epoch`, SHARED_TTL_MS)
      .pExpire(`${prefix}:runs`, SHARED_TTL_MS)
      .pExpire(`${prefix}:layout`, SHARED_TTL_MS)
      .exec();
  }

  private beatKey(instance: string): string {
    return `${this.options.prefix}:beat:${instance}`;
  }

  private sessionKey(session: string): string {
    return `${this.options.prefix}:{${session}}:session`;
  }

  private streamsKey(session: string): string {
    return `${this.options.prefix}:{${session}}:streams`;
  }

  private logPrefix(session: string): string {
    return `${this.options.prefix}:{${session}}:log:`;
  }
}

import type { DownstreamContext } from '../../adapter.js';
import { type Principal, ownerOf } from '../../../src/auth/principal.js';
import { now } from '../../../src/clock/clock.js';
import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import type { ClientDescription } from '../../../src/exchange/exchange.js';
import { EventIds } from '../../../src/replay/event-id.js';
import { type ReplayLimits, ReplayTotal } from '../../../src/replay/replay-buffer.js';
import type { StreamLog } from '../../../src/replay/stream-log.js';
import { sessionKey } from '../../../src/sessions/session-record.js';
import { LegacySession, type SessionHome, type SessionOrigin } from './session.js';

/** Longest and shortest time between two looks for sessions and events that are over, in milliseconds. */
const SWEEP_MS = { most: 5000, least: 100 };

const STORE_SWEEP_MS = 30_000;
/** How long closing waits for the store to have everything, in milliseconds. */
const DRAIN_MS = 1000;
/** Nothing else is looked up in a store. */
const SESSION_ID = /^[\x21-\x7e]{1,128}$/;

/** The legacy sessions of this process: found by id and principal, bounded in number, ended when idle or old. */
export class SessionTable implements SessionHome {
  private readonly sessions = new Map<string, LegacySession>();
  /** Sessions entered or being introduced. */
  private taken = 0;
  private readonly perOwner = new Map<string, number>();
  /** Running streams without a connection, by principal; oldest first. */
  private readonly withoutConnection = new Map<string, Map<StreamLog, LegacySession>>();
  readonly ids: EventIds;
  readonly replayLimits: ReplayLimits;
  /** Sessions being read from the store, by the id shown. */
  private readonly restoring = new Map<string, Promise<string | undefined>>();
  readonly total = new ReplayTotal();
  private readonly sweeper: NodeJS.Timeout;
  private storeSwept = 0;

  constructor(readonly context: DownstreamContext) {
    this.ids = new EventIds(context.store.epoch);
    const { limits, polling } = context.config;
    context.store.onLost = (key) => this.lose(key);
    const { sessions, replay } = context.config;
    this.replayLimits = {
      ...replay,
      streamBufferBytes: limits.streamBufferBytes,
      retryMs: polling.retryMs,
    };
    const shortest = Math.min(sessions.idleMs, sessions.maxAgeMs, replay.maxAgeMs) / 4;
    const sweepMs = Math.min(SWEEP_MS.most, Math.max(SWEEP_MS.least, shortest));
    this.sweeper = setInterval(() => this.sweep(), sweepMs);
    this.sweeper.unref();
  }

  get size(): number {
    return this.sessions.size;
  }

  /** Questions the clients have not answered. */
  get openQuestions(): number {
    let open = 0;
    for (const session of this.sessions.values()) open += session.questions.size;
    return open;
  }

  /**
   * Makes a session that is not in the table yet: it enters once the upstream has accepted the client.
   * @throws GatewayError a cap is reached
   */
  create(
    client: ClientDescription,
    principal: Principal,
    upstreamName: string,
    authorization: string | undefined,
    remoteAddress: string,
  ): LegacySession {
    return this.make({ client, principal, upstreamName, authorization, remoteAddress });
  }

  private make(origin: SessionOrigin): LegacySession {
    const { principal, remoteAddress } = origin;
    const { sessions, limits } = this.context.config;
    const headers = { 'Retry-After': String(limits.retryAfterSeconds) };
    if (this.taken >= sessions.max) {
      throw new GatewayError(
        GATEWAY_CODE.overloaded,
        `the gateway holds its limit of ${sessions.max} sessions`,
        {
          status: 503,
          headers,
        },
      );
    }
    const owner = ownerOf(principal, remoteAddress);
    if ((this.perOwner.get(owner) ?? 0) >= sessions.maxPerPrincipal) {
      throw new GatewayError(
        GATEWAY_CODE.overloaded,
        `this caller holds its limit of ${sessions.maxPerPrincipal} sessions`,
        { status: 429, headers },
      );
    }
    // Counts from the beginning: otherwise as many as are being introduced at one time would pass the caps.
    this.taken++;
    this.perOwner.set(owner, (this.perOwner.get(owner) ?? 0) + 1);
    return new LegacySession(this, origin);
  }

  /** Enters a session: from now on its id is known. */
  enter(session: LegacySession): void {
    this.sessions.set(session.id, session);
  }

  /** The session takes no place any more, and its id is unknown. */
  ended(session: LegacySession): void {
    this.sessions.delete(session.id);
    this.taken--;
    const left = (this.perOwner.get(session.owner) ?? 1) - 1;
    if (left > 0) this.perOwner.set(session.owner, left);
    else this.perOwner.delete(session.owner);
  }

  attached(session: LegacySession, stream: StreamLog): void {
    this.withoutConnection.get(session.owner)?.delete(stream);
  }

  /** Finds a session. One of another principal is answered exactly like an unknown one. */
  find(id: string | undefined, principal: Principal): LegacySession | undefined {
    const session = id === undefined ? undefined : this.sessions.get(id);
    if (session?.principal.key !== principal.key) return undefined;
    this.endIfOver(session, now());
    return session.over ? undefined : session;
  }

  /** Whether a session that this process does not hold may be in the store. */
  mayBeStored(id: string | undefined): id is string {
    return this.context.store.persistent && id !== undefined && !this.sessions.has(id) && SESSION_ID.test(id);
  }

  /**
   * Takes a session out of the store, when it is there and this caller's. Its calls died with the process that ran them.
   * Resolves with the name of the living instance that holds it, if one does.
   * @throws GatewayError the store cannot be reached, or a cap is reached
   */
  async restore(id: string, principal: Principal, authorization: string | undefined, remoteAddress: string) {
    let restoring = this.restoring.get(id);
    if (restoring === undefined) {
      restoring = this.load(id, principal, authorization, remoteAddress);
      this.restoring.set(id, restoring);
      const forget = () => this.restoring.delete(id);
      restoring.then(forget, forget);
    }
    return restoring;
  }

  private async load(
    id: string,
    principal: Principal,
    authorization: string | undefined,
    remoteAddress: string,
  ): Promise<string | undefined> {
    const session = await this.context.store.load(sessionKey(id));
    if (session !== undefined && 'heldBy' in session) return session.heldBy;
    if (session?.record.principal.key !== principal.key || this.sessions.has(id)) return undefined;
    const { client, upstreamName } = session.record;
    const restored = { id, session };
    this.enter(this.make({ client, principal, upstreamName, authorization, remoteAddress, restored }));
    return undefined;
  }

  /** The store refuses what this process says of a session. What it did not take, nobody is told. */
  private lose(key: string): void {
    for (const session of this.sessions.values()) {
      if (session.storeKey !== key) continue;
      this.context.log.warn({}, 'a session was taken over by another instance, or is gone from the store');
      session.suspend('the session is no longer held here');
      session.buffer.clear(false);
    }
  }

  /** Ends all sessions; those in a store go on in another process. */
  async close(): Promise<void> {
    clearInterval(this.sweeper);
    const { store } = this.context;
    const sessions = [...this.sessions.values()];
    for (const session of sessions) {
      if (store.persistent) session.suspend('the gateway is shutting down');
      else session.end('the gateway is shutting down');
    }
    await store.drained(DRAIN_MS);
    for (const session of sessions) session.buffer.clear();
  }

  /** A stream lost its connection while its requests run on: so many of one principal, and no more. */
  detached(session: LegacySession, stream: StreamLog): void {
    if (stream.kind !== 'post' || stream.abandon === undefined) return;
    let own = this.withoutConnection.get(session.owner);
    if (own === undefined) {
      own = new Map();
      this.withoutConnection.set(session.owner, own);
    }
    own.set(stream, session);
    const cap = this.context.config.limits.detachedPerPrincipal;
    for (const [oldest] of own) {
      if (own.size <= cap) break;
      own.delete(oldest);
      if (oldest.endedAt !== undefined) continue;
      this.context.log.warn(
        { principal: session.principal.key, cap },
        'too many calls without a connection; the oldest is cancelled',
      );
      oldest.abandon?.();
    }
  }

  private endIfOver(session: LegacySession, at: number): void {
    const { idleMs, maxAgeMs } = this.context.config.sessions;
    if (at - session.createdAt > maxAgeMs) session.end('the session reached its maximum age');
    else if (!session.busy && at - session.lastSeen > idleMs) session.end('the session was idle too long');
  }

  /** Sessions that nobody came back to since an earlier run end too. */
  private sweepStore(at: number): void {
    const { store, config } = this.context;
    if (!store.persistent || at - this.storeSwept < STORE_SWEEP_MS) return;
    this.storeSwept = at;
    const { idleMs, maxAgeMs } = config.sessions;
    // What a process holds it ends itself, and it may be behind in telling when a client was last seen.
    const seenBefore = at - idleMs - STORE_SWEEP_MS;
    store.write({ kind: 'expire', seenBefore, createdBefore: at - maxAgeMs - STORE_SWEEP_MS });
  }

  private sweep(): void {
    const at = now();
    for (const session of [...this.sessions.values()]) {
      session.buffer.expire(at);
      if (session.busy) session.touch(at);
      this.endIfOver(session, at);
    }
    this.sweepStore(at);
    for (const [key, streams] of this.withoutConnection) {
      for (const stream of streams.keys()) if (stream.endedAt !== undefined) streams.delete(stream);
      if (streams.size === 0) this.withoutConnection.delete(key);
    }
  }
}

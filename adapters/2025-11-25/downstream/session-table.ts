import { randomBytes } from 'node:crypto';
import type { AdapterContext } from '../../adapter.js';
import type { Principal } from '../../../src/auth/principal.js';
import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import type { ClientDescription } from '../../../src/exchange/exchange.js';
import { EventIds } from '../../../src/replay/event-id.js';
import { ReplayTotal } from '../../../src/replay/replay-buffer.js';
import type { StreamLog } from '../../../src/replay/stream-log.js';
import { LegacySession } from './session.js';

/** Longest and shortest time between two looks for sessions and events that are over, in milliseconds. */
const SWEEP_MS = { most: 5000, least: 100 };

/** The legacy sessions of this process: found by id and principal, bounded in number, ended when idle or old. */
export class SessionTable {
  private readonly sessions = new Map<string, LegacySession>();
  /** Sessions entered or being introduced. */
  private taken = 0;
  private readonly perOwner = new Map<string, number>();
  /** Running streams without a connection, by principal; oldest first. */
  private readonly detached = new Map<string, Map<StreamLog, LegacySession>>();
  private readonly ids = new EventIds(randomBytes(6).toString('base64url'));
  private readonly total = new ReplayTotal();
  private readonly sweeper: NodeJS.Timeout;

  constructor(private readonly context: AdapterContext) {
    const { sessions, replay } = context.config;
    const shortest = Math.min(sessions.idleMs, sessions.maxAgeMs, replay.maxAgeMs) / 4;
    const sweepMs = Math.min(SWEEP_MS.most, Math.max(SWEEP_MS.least, shortest));
    this.sweeper = setInterval(() => this.sweep(), sweepMs);
    this.sweeper.unref();
  }

  get size(): number {
    return this.sessions.size;
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
    const session: LegacySession = new LegacySession(
      {
        context: this.context,
        principal,
        upstreamName,
        client,
        authorization,
        remoteAddress,
        ids: this.ids,
        total: this.total,
      },
      (stream) => this.onDetached(stream, session, owner),
      (stream) => this.detached.get(owner)?.delete(stream),
    );
    this.reserve(session, owner);
    return session;
  }

  /** Enters a session: from now on its id is known. */
  enter(session: LegacySession): void {
    this.sessions.set(session.id, session);
    session.ended.addEventListener('abort', () => this.sessions.delete(session.id), { once: true });
  }

  /** Counts from the beginning: otherwise as many as are being introduced at one time would pass the caps. */
  private reserve(session: LegacySession, owner: string): void {
    this.taken++;
    this.perOwner.set(owner, (this.perOwner.get(owner) ?? 0) + 1);
    session.ended.addEventListener(
      'abort',
      () => {
        this.taken--;
        const left = (this.perOwner.get(owner) ?? 1) - 1;
        if (left > 0) this.perOwner.set(owner, left);
        else this.perOwner.delete(owner);
      },
      { once: true },
    );
  }

  /** Finds a session. One of another principal is answered exactly like an unknown one. */
  find(id: string | undefined, principal: Principal): LegacySession | undefined {
    const session = id === undefined ? undefined : this.sessions.get(id);
    if (session?.principal.key !== principal.key) return undefined;
    this.endIfOver(session, Date.now());
    return session.ended.aborted ? undefined : session;
  }

  close(): void {
    clearInterval(this.sweeper);
    for (const session of [...this.sessions.values()]) session.end('the gateway is shutting down');
  }

  /** A stream lost its connection while its requests run on: so many of one principal, and no more. */
  private onDetached(stream: StreamLog, session: LegacySession, owner: string): void {
    if (stream.kind !== 'post' || stream.abandon === undefined) return;
    let own = this.detached.get(owner);
    if (own === undefined) {
      own = new Map();
      this.detached.set(owner, own);
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

  private endIfOver(session: LegacySession, now: number): void {
    const { idleMs, maxAgeMs } = this.context.config.sessions;
    if (now - session.createdAt > maxAgeMs) session.end('the session reached its maximum age');
    else if (!session.busy && now - session.lastSeen > idleMs) session.end('the session was idle too long');
  }

  private sweep(): void {
    const now = Date.now();
    for (const session of [...this.sessions.values()]) {
      session.buffer.expire(now);
      this.endIfOver(session, now);
    }
    for (const [key, streams] of this.detached) {
      for (const stream of streams.keys()) if (stream.endedAt !== undefined) streams.delete(stream);
      if (streams.size === 0) this.detached.delete(key);
    }
  }
}

/** Anonymous callers are told apart by their address, as far as they can be. */
function ownerOf(principal: Principal, remoteAddress: string): string {
  return principal.anonymous ? `a:${remoteAddress}` : principal.key;
}

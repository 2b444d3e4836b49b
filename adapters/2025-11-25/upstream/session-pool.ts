import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import type { UpstreamContext } from '../../adapter.js';
import { ownerOf } from '../../../src/auth/principal.js';
import { now } from '../../../src/clock/clock.js';
import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import type { Caller, Introduction } from '../../../src/exchange/exchange.js';
import { remembering } from '../../../src/exchange/remembering.js';
import { openSession } from './handshake.js';
import type { UpstreamSession } from './session.js';
import { printUpstreamState, restoreSession } from './stored-session.js';
import { StreamPatience } from './stream-patience.js';

const SWEEP_MS = 15_000;
/** How long closing waits for upstreams to hear that their sessions are over, in milliseconds. */
const CLOSE_MS = 1000;

/** A key of bounded length for whatever a client says of itself. */
const stickyKey = remembering((text) => `s:${createHash('sha256').update(text).digest('base64url')}`);

/** A session lent to one exchange. */
export class Lease {
  private lent = true;

  constructor(
    readonly session: UpstreamSession,
    /** Whether this lease's acquisition opened the session. */
    readonly fresh: boolean,
    private readonly lender: { returned(session: UpstreamSession): void },
  ) {}

  release(): void {
    if (!this.lent) return;
    this.lent = false;
    this.lender.returned(this.session);
  }
}

/**
 * The gateway's sessions with one legacy upstream: one per legacy client session, and for clients without sessions one
 * sticky one per (principal, clientInfo, capabilities), so that a stateful server keeps its state between calls and no
 * client ever claims what another declared.
 */
export class SessionPool {
  private readonly sessions = new Map<string, UpstreamSession>();
  private readonly opening = new Map<string, Promise<UpstreamSession>>();
  /** The owner of each session that is no client's own, and the other way round. */
  private readonly owners = new Map<UpstreamSession, string>();
  private readonly byOwner = new Map<string, Set<UpstreamSession>>();
  private readonly patience = new StreamPatience();
  private exclusive = 0;
  private closed = false;
  private readonly sweeper: NodeJS.Timeout;

  constructor(private readonly context: UpstreamContext) {
    this.sweeper = setInterval(() => this.sweep(), SWEEP_MS);
    this.sweeper.unref();
  }

  /** Lends the session this caller's exchanges belong to, opening it first if need be. @throws GatewayError */
  async acquire(introduction: Introduction): Promise<Lease> {
    if (this.closed) {
      throw new GatewayError(GATEWAY_CODE.shuttingDown, 'the gateway is shutting down', { status: 503 });
    }
    const { caller } = introduction;
    const key = this.keyOf(introduction);
    const known = this.sessions.get(key);
    if (known !== undefined && !known.ended) return this.lend(known, false, introduction);
    let opening = this.opening.get(key);
    const fresh = opening === undefined;
    if (opening === undefined) {
      if (caller.conversation?.over === true) {
        throw new GatewayError(GATEWAY_CODE.sessionEnded, 'the session has ended', { status: 404 });
      }
      this.makeRoom(introduction);
      opening = this.open(key, introduction).then((session) => {
        this.adopt(session, introduction);
        return session;
      });
      this.opening.set(key, opening);
      const forget = () => this.opening.delete(key);
      opening.then(forget, forget);
    }
    return this.lend(await opening, fresh, introduction);
  }

  /** A client's session that began in another process goes on, when the upstream still knows its side of it. */
  private async open(key: string, introduction: Introduction): Promise<UpstreamSession> {
    const { conversation } = introduction.caller;
    const known = conversation && restoreSession(this.context, key, introduction);
    if (known !== undefined) return known;
    const session = await openSession(this.context, key, introduction, this.patience);
    conversation?.rememberUpstream(printUpstreamState(session));
    return session;
  }

  /** The session of a client that has one already. */
  find(introduction: Introduction): UpstreamSession | undefined {
    return this.sessions.get(this.keyOf(introduction));
  }

  /** Forgets a session the upstream no longer knows. */
  drop(session: UpstreamSession, deleteUpstream: boolean): Promise<void> {
    if (this.sessions.get(session.key) === session) {
      this.sessions.delete(session.key);
      this.disown(session);
    }
    return session.end(deleteUpstream);
  }

  async close(): Promise<void> {
    this.closed = true;
    clearInterval(this.sweeper);
    await Promise.allSettled(this.opening.values());
    const ended = [...this.sessions.values()].map((session) => this.drop(session, !isSuspended(session)));
    let timer: NodeJS.Timeout | undefined;
    const bound = new Promise<void>((resolve) => (timer = setTimeout(resolve, CLOSE_MS)));
    await Promise.race([Promise.all(ended), bound]);
    clearTimeout(timer);
  }

  /** The upstream forgot a session: it is of no use to anybody, and a legacy client must learn so. */
  private lose(session: UpstreamSession): void {
    void this.drop(session, false);
    session.conversation?.end('the upstream no longer knows this session');
  }

  private lend(session: UpstreamSession, fresh: boolean, introduction: Introduction): Lease {
    session.users++;
    session.lastUsed = now();
    if (introduction.caller.authorization !== undefined || session.conversation === undefined) {
      session.caller = introduction.caller;
    }
    return new Lease(session, fresh, this);
  }

  /** A lease is over. */
  returned(session: UpstreamSession): void {
    session.users--;
    session.lastUsed = now();
    if (session.key.startsWith('x:') && session.users === 0) void this.drop(session, true);
  }

  private adopt(session: UpstreamSession, introduction: Introduction): void {
    this.sessions.set(session.key, session);
    session.onLost = () => this.lose(session);
    if (session.conversation === undefined) this.own(session, callerKey(introduction));
    session.conversation?.onEnd(() => void this.drop(session, !isSuspended(session)));
  }

  private keyOf(introduction: Introduction): string {
    const { caller, client } = introduction;
    if (caller.conversation !== undefined) return `c:${caller.conversation.key}`;
    const exclusive =
      this.context.upstream.sessions === 'exclusive' || (caller.principal.anonymous && !this.isLocal(caller));
    if (exclusive) {
      this.exclusive++;
      return `x:${this.exclusive}`;
    }
    return stickyKey(JSON.stringify([caller.principal.key, client.clientInfo ?? '', client.capabilities]));
  }

  /**
   * Whether an anonymous caller is somebody on this machine, as far as that can be told: behind a proxy everybody seems to
   * be, so a gateway that was told of other names of its own trusts no address.
   */
  private isLocal(caller: Caller): boolean {
    const { publicUrl, allowedHosts } = this.context.config;
    return publicUrl === undefined && allowedHosts.length === 0 && isLoopback(caller.remoteAddress);
  }

  /** Keeps a principal below its cap: the idle session used longest ago goes; one in use never does. */
  private makeRoom(introduction: Introduction): void {
    // The sessions of legacy clients have a cap of their own and end with their clients: they neither need this room
    // nor take it from clients without sessions, whom they would otherwise lock out.
    if (introduction.caller.conversation !== undefined) return;
    const owner = callerKey(introduction);
    const cap = this.context.config.limits.upstreamSessionsPerPrincipal;
    const own = this.byOwner.get(owner);
    if (own === undefined || own.size < cap) return;
    const idle = [...own].filter((session) => session.users === 0).sort((a, b) => a.lastUsed - b.lastUsed)[0];
    if (idle !== undefined) {
      void this.drop(idle, true);
      return;
    }
    throw new GatewayError(
      GATEWAY_CODE.overloaded,
      `all ${cap} upstream sessions of this caller are in use; try again later`,
      { status: 429, headers: { 'Retry-After': String(this.context.config.limits.retryAfterSeconds) } },
    );
  }

  private own(session: UpstreamSession, owner: string): void {
    this.owners.set(session, owner);
    const own = this.byOwner.get(owner);
    if (own === undefined) this.byOwner.set(owner, new Set([session]));
    else own.add(session);
  }

  private disown(session: UpstreamSession): void {
    const owner = this.owners.get(session);
    if (owner === undefined) return;
    this.owners.delete(session);
    const own = this.byOwner.get(owner);
    own?.delete(session);
    if (own?.size === 0) this.byOwner.delete(owner);
  }

  private sweep(): void {
    const before = now() - this.context.config.timeouts.upstreamSessionIdleMs;
    for (const session of [...this.sessions.values()]) {
      if (session.users === 0 && session.conversation === undefined && session.lastUsed < before) {
        void this.drop(session, true);
      }
    }
  }
}

/** Whether its client will be back, in another process, and need it. */
function isSuspended(session: UpstreamSession): boolean {
  return session.conversation?.suspended === true;
}

function callerKey({ caller }: Introduction): string {
  return ownerOf(caller.principal, caller.remoteAddress);
}

function isLoopback(address: string): boolean {
  const plain = address.startsWith('::ffff:') ? address.slice(7) : address;
  return isIP(plain) === 4 ? plain.startsWith('127.') : plain === '::1';
}

import { randomBytes } from 'node:crypto';
import type { DownstreamContext } from '../../adapter.js';
import { NO_OFFER, type OfferedChanges, offerOf } from '../offered-changes.js';
import { hasPriming } from '../revisions.js';
import { type Principal, ownerOf } from '../../../src/auth/principal.js';
import { now } from '../../../src/clock/clock.js';
import { Ending } from '../../../src/exchange/ending.js';
import type {
  Caller,
  ClientDescription,
  Conversation,
  Introduction,
} from '../../../src/exchange/exchange.js';
import { LIST_KINDS } from '../../../src/exchange/change-filter.js';
import { possibleChanges } from '../../../src/exchange/listen-service.js';
import type { Answer, Question } from '../../../src/exchange/question.js';
import type { HttpRequest } from '../../../src/http/port.js';
import { traceHeaders } from '../../../src/exchange/passed-headers.js';
import { type Message, type RawId, idKey } from '../../../src/jsonrpc/message.js';
import { recoverStream } from '../../../src/replay/recovery.js';
import type { EventIds } from '../../../src/replay/event-id.js';
import {
  type BufferObserver,
  ReplayBuffer,
  type ReplayLimits,
  type ReplayTotal,
} from '../../../src/replay/replay-buffer.js';
import type { StoredSession } from '../../../src/replay/store.js';
import type { StreamLog } from '../../../src/replay/stream-log.js';
import { type SessionRecord, sessionKey } from '../../../src/sessions/session-record.js';
import { QuestionDesk } from './question-desk.js';
import { WatchedResources } from './watched-resources.js';

let lastKey = 0;

/** The instance a session id was made by. */
export function sessionOwner(id: string): string | undefined {
  const dot = id.indexOf('.');
  return dot === -1 ? undefined : id.slice(0, dot);
}

/** A running request of the session, as far as the session can act on it. */
export interface RunningRequest {
  /** The client cancelled it. @param reason what it said why */
  cancel(reason?: string): void;
}

/** What the sessions of a process share, and who hears of them. */
export interface SessionHome {
  readonly context: DownstreamContext;
  readonly ids: EventIds;
  readonly total: ReplayTotal;
  readonly replayLimits: ReplayLimits;
  /** A stream of the session lost its connection while its requests run on. */
  detached(session: LegacySession, stream: StreamLog): void;
  attached(session: LegacySession, stream: StreamLog): void;
  ended(session: LegacySession): void;
}

/** What a session is made from. */
export interface SessionOrigin {
  readonly principal: Principal;
  readonly upstreamName: string;
  readonly client: ClientDescription;
  readonly authorization: string | undefined;
  readonly remoteAddress: string;
  /** The id the client showed and what the store has of its session, when it began in another process. */
  readonly restored?: { readonly id: string; readonly session: StoredSession };
}

/** How long the store may believe that a client was last seen earlier than it was, in milliseconds. */
const SEEN_MS = 5000;

/**
 * A legacy client's session.
 * @see /specification/2025-11-25/basic/transports#session-management
 */
export class LegacySession implements Conversation, BufferObserver {
  /** The secret the client shows: the instance that holds the session, which is none, and 192 random bits. */
  readonly id: string;
  readonly key: string;
  /** The key under which the store has the session. */
  readonly storeKey: string;
  readonly principal: Principal;
  readonly upstreamName: string;
  /** Whose share of the caps the session takes. */
  readonly owner: string;
  readonly createdAt: number;
  lastSeen: number;
  suspended = false;
  upstreamState: string | undefined;
  client: ClientDescription;
  /** What the client was promised to be told of. */
  advertised: OfferedChanges = NO_OFFER;
  /** Resources the client subscribed to. */
  readonly watched: WatchedResources;
  /** Those of them that were subscribed to in another process only. */
  private unwatched: string[] | undefined;
  readonly buffer: ReplayBuffer;
  readonly questions: QuestionDesk;
  private readonly life = new Ending();
  private running: Map<string, Set<RunningRequest>> | undefined;
  private standaloneLog: StreamLog | undefined;
  private authorization: string | undefined;
  private remoteAddress: string;
  /** Whether the store has the session. */
  private stored = false;
  private seenStored = 0;

  constructor(
    private readonly home: SessionHome,
    { principal, upstreamName, client, authorization, remoteAddress, restored }: SessionOrigin,
  ) {
    lastKey++;
    this.key = String(lastKey);
    const { store, instance, config } = home.context;
    const created = now();
    this.id = restored?.id ?? `${instance}.${randomBytes(24).toString('base64url')}`;
    this.storeKey = store.persistent ? sessionKey(this.id) : '';
    this.principal = principal;
    this.upstreamName = upstreamName;
    this.owner = ownerOf(principal, remoteAddress);
    // Another process may have counted by another clock: nothing is younger than now.
    this.createdAt = Math.min(restored?.session.record.createdAt ?? created, created);
    this.lastSeen = Math.min(restored?.session.lastSeen ?? created, created);
    this.watched = new WatchedResources(config.limits.subscribedResources);
    this.client = client;
    this.authorization = authorization;
    this.remoteAddress = remoteAddress;
    this.buffer = new ReplayBuffer(home.ids, home.replayLimits, home.total, this, {
      store,
      session: this.storeKey,
    });
    this.questions = new QuestionDesk(config.timeouts.questionMs, store.run);
    if (restored !== undefined) this.restore(restored.session);
  }

  /** A stream that was open for hours must not leave a session that is idle at once: its client may be coming back. */
  detached(stream: StreamLog): void {
    this.touch(now());
    this.home.detached(this, stream);
  }

  attached(stream: StreamLog): void {
    this.home.attached(this, stream);
  }

  private restore({ record, streams }: StoredSession): void {
    this.stored = true;
    this.upstreamState = record.upstreamState;
    if (record.advertised !== undefined) {
      const { lists, subscribe } = record.advertised;
      this.advertised = offerOf(
        LIST_KINDS.filter((kind) => lists.includes(kind)),
        subscribe,
      );
    }
    if (record.watched !== undefined && record.watched.length > 0) {
      for (const uri of record.watched) this.watched.add(uri);
      this.unwatched = [...record.watched];
    }
    for (const stream of streams) {
      const log = recoverStream(this.buffer, stream);
      if (stream.kind === 'standalone') this.standaloneLog = log;
    }
  }

  /** Enters the session, or what has changed about it, into the store; `kept` is called when it is there. */
  save(kept?: () => void): void {
    const { store } = this.home.context;
    this.stored = true;
    if (!store.persistent || store.write({ kind: 'session', record: this.record, at: this.lastSeen }, kept))
      kept?.();
  }

  private get record(): SessionRecord {
    const { principal, upstreamName } = this;
    const { lists, subscribe } = this.advertised;
    return {
      key: this.storeKey,
      principal,
      upstreamName,
      client: this.client,
      createdAt: this.createdAt,
      ...(this.upstreamState !== undefined && { upstreamState: this.upstreamState }),
      advertised: { lists: [...lists], subscribe },
      watched: [...this.watched.all],
    };
  }

  private saveChange(): void {
    if (this.stored && !this.over) this.save();
  }

  rememberUpstream(state: string): void {
    if (state === this.upstreamState) return;
    this.upstreamState = state;
    this.saveChange();
  }

  /** The client asked for log messages from this level on. */
  setLogLevel(logLevel: string): void {
    this.client = { ...this.client, logLevel };
    this.saveChange();
  }

  get over(): boolean {
    return this.life.over;
  }

  onEnd(listener: () => void): void {
    this.life.onEnd(listener);
  }

  offEnd(listener: () => void): void {
    this.life.offEnd(listener);
  }

  get revision(): string {
    return this.client.revision;
  }

  get priming(): boolean {
    return hasPriming(this.revision);
  }

  /** Whether anything keeps the session from being idle. */
  get busy(): boolean {
    return (this.running?.size ?? 0) > 0 || this.buffer.hasConnections;
  }

  /** A request of the client arrived: the session lives on, with the newest credential. */
  seen(request: HttpRequest): void {
    this.remoteAddress = request.remoteAddress;
    this.authorization = request.headers['authorization'] ?? this.authorization;
    this.touch(now());
  }

  /** Something keeps the session from being idle. @param at milliseconds since the epoch */
  touch(at: number): void {
    this.lastSeen = at;
    const { store } = this.home.context;
    if (!store.persistent || !this.stored || at - this.seenStored < SEEN_MS) return;
    this.seenStored = at;
    store.write({ kind: 'seen', session: this.storeKey, at });
  }

  get caller(): Caller {
    return {
      principal: this.principal,
      remoteAddress: this.remoteAddress,
      conversation: this,
      ...(this.authorization !== undefined && { authorization: this.authorization }),
    };
  }

  introduction(request: HttpRequest): Introduction {
    return {
      era: 'legacy',
      client: this.client,
      caller: this.caller,
      headers: traceHeaders(request),
    };
  }

  /** The stream for what belongs to no request. Exists as soon as there is something to say or someone to listen. */
  get standalone(): StreamLog {
    this.standaloneLog ??= this.buffer.open('standalone');
    return this.standaloneLog;
  }

  register(id: RawId, request: RunningRequest): void {
    const key = idKey(id);
    const same = this.running?.get(key);
    // A client that reuses an id it still waits on cancels both by it; nothing else depends on ids.
    if (same === undefined)
      (this.running ??= new Map<string, Set<RunningRequest>>()).set(key, new Set([request]));
    else same.add(request);
  }

  unregister(id: RawId, request: RunningRequest): void {
    const key = idKey(id);
    const same = this.running?.get(key);
    same?.delete(request);
    if (same?.size === 0) this.running?.delete(key);
    this.lastSeen = now();
  }

  /** Unknown ids are ignored, as the specification asks. */
  cancel(id: RawId, reason?: string): void {
    for (const request of this.running?.get(idKey(id)) ?? []) request.cancel(reason);
  }

  notify(message: Message): void {
    if (!this.over) this.standalone.append(message.text);
  }

  /** The client subscribed to a resource, or no longer does. */
  noteSubscription(method: string, uri: string): void {
    if (method === 'resources/subscribe') this.watched.add(uri);
    else if (method === 'resources/unsubscribe') this.watched.delete(uri);
    else return;
    this.saveChange();
  }

  /** The resources to subscribe to again, given out once. */
  takeUnwatched(): string[] {
    return this.unwatched?.splice(0) ?? [];
  }

  /** Notifications were lost for want of room or time: the client is told of everything that may have changed. */
  tellPossibleChanges(): void {
    for (const change of possibleChanges({ lists: this.advertised.lists, uris: this.watched.all }))
      this.notify(change);
  }

  ask(question: Question, signal: AbortSignal): Promise<Answer> {
    return this.questions.ask(question, this.standalone, signal);
  }

  end(reason: string): void {
    if (this.over) return;
    this.stop(reason);
    this.buffer.clear();
    const { store } = this.home.context;
    if (store.persistent && this.stored) store.write({ kind: 'end', session: this.storeKey });
  }

  /** Ends the session in this process only. Its connections stay until `buffer.clear()`, for what is being stored. */
  suspend(reason: string): void {
    if (this.over) return;
    this.suspended = true;
    this.stop(reason);
  }

  private stop(reason: string): void {
    this.home.context.log.debug({ reason }, 'a session has ended');
    this.home.ended(this);
    this.life.end();
    this.questions.close();
    this.running = undefined;
  }
}

import { randomBytes } from 'node:crypto';
import type { AdapterContext } from '../../adapter.js';
import { NO_OFFER, type OfferedChanges } from '../offered-changes.js';
import { hasPriming } from '../revisions.js';
import type { Principal } from '../../../src/auth/principal.js';
import type {
  Caller,
  ClientDescription,
  Conversation,
  Introduction,
} from '../../../src/exchange/exchange.js';
import { possibleChanges } from '../../../src/exchange/listen-service.js';
import type { Answer, Question } from '../../../src/exchange/question.js';
import type { HttpRequest } from '../../../src/http/port.js';
import { traceHeaders } from '../../../src/exchange/passed-headers.js';
import { type Message, type RawId, idKey } from '../../../src/jsonrpc/message.js';
import type { EventIds } from '../../../src/replay/event-id.js';
import { ReplayBuffer, type ReplayTotal } from '../../../src/replay/replay-buffer.js';
import type { StreamLog } from '../../../src/replay/stream-log.js';
import { QuestionDesk } from './question-desk.js';

let lastKey = 0;

/** A running request of the session, as far as the session can act on it. */
export interface RunningRequest {
  /** The client cancelled it. */
  cancel(): void;
}

/** What a session is made from. */
export interface SessionOrigin {
  readonly context: AdapterContext;
  readonly principal: Principal;
  readonly upstreamName: string;
  readonly client: ClientDescription;
  readonly authorization: string | undefined;
  readonly remoteAddress: string;
  readonly ids: EventIds;
  readonly total: ReplayTotal;
}

/**
 * A legacy client's session.
 * @see /specification/2025-11-25/basic/transports#session-management
 */
export class LegacySession implements Conversation {
  /** The secret the client shows: 192 random bits, visible ASCII. */
  readonly id = randomBytes(24).toString('base64url');
  readonly key: string;
  readonly createdAt = Date.now();
  lastSeen = Date.now();
  client: ClientDescription;
  /** What the client was promised to be told of. */
  advertised: OfferedChanges = NO_OFFER;
  /** Resources the client subscribed to. */
  private readonly watched = new Set<string>();
  readonly buffer: ReplayBuffer;
  readonly questions: QuestionDesk;
  private readonly life = new AbortController();
  private readonly running = new Map<string, Set<RunningRequest>>();
  private standaloneLog: StreamLog | undefined;
  private authorization: string | undefined;
  private remoteAddress: string;

  constructor(
    private readonly origin: SessionOrigin,
    detached: (stream: StreamLog) => void,
    attached: (stream: StreamLog) => void,
  ) {
    lastKey++;
    this.key = String(lastKey);
    this.client = origin.client;
    this.authorization = origin.authorization;
    this.remoteAddress = origin.remoteAddress;
    const { replay, limits, timeouts, polling } = origin.context.config;
    this.buffer = new ReplayBuffer(
      origin.ids,
      { ...replay, streamBufferBytes: limits.streamBufferBytes, retryMs: polling.retryMs },
      origin.total,
      { detached, attached },
    );
    this.questions = new QuestionDesk(timeouts.questionMs);
  }

  get principal(): Principal {
    return this.origin.principal;
  }

  get upstreamName(): string {
    return this.origin.upstreamName;
  }

  get ended(): AbortSignal {
    return this.life.signal;
  }

  get revision(): string {
    return this.client.revision;
  }

  get priming(): boolean {
    return hasPriming(this.revision);
  }

  /** Whether anything keeps the session from being idle. */
  get busy(): boolean {
    return this.running.size > 0 || this.buffer.hasConnections;
  }

  /** A request of the client arrived: the session lives on, with the newest credential. */
  seen(request: HttpRequest): void {
    this.lastSeen = Date.now();
    this.remoteAddress = request.remoteAddress;
    this.authorization = request.headers['authorization'] ?? this.authorization;
  }

  get caller(): Caller {
    return {
      principal: this.origin.principal,
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
      signal: this.ended,
    };
  }

  /** The stream for what belongs to no request. Exists as soon as there is something to say or someone to listen. */
  get standalone(): StreamLog {
    this.standaloneLog ??= this.buffer.open('standalone');
    return this.standaloneLog;
  }

  register(id: RawId, request: RunningRequest): void {
    const key = idKey(id);
    const same = this.running.get(key);
    // A client that reuses an id it still waits on cancels both by it; nothing else depends on ids.
    if (same === undefined) this.running.set(key, new Set([request]));
    else same.add(request);
  }

  unregister(id: RawId, request: RunningRequest): void {
    const key = idKey(id);
    const same = this.running.get(key);
    same?.delete(request);
    if (same?.size === 0) this.running.delete(key);
    this.lastSeen = Date.now();
  }

  /** Unknown ids are ignored, as the specification asks. */
  cancel(id: RawId): void {
    for (const request of this.running.get(idKey(id)) ?? []) request.cancel();
  }

  notify(message: Message): void {
    if (!this.ended.aborted) this.standalone.append(message.text);
  }

  /** The client subscribed to a resource, or no longer does. */
  noteSubscription(method: string, uri: string): void {
    if (method === 'resources/subscribe') this.watched.add(uri);
    else if (method === 'resources/unsubscribe') this.watched.delete(uri);
  }

  /** Notifications were lost for want of room or time: the client is told of everything that may have changed. */
  tellPossibleChanges(): void {
    for (const change of possibleChanges({ lists: this.advertised.lists, uris: this.watched }))
      this.notify(change);
  }

  ask(question: Question, signal: AbortSignal): Promise<Answer> {
    return this.questions.ask(question, this.standalone, signal);
  }

  end(reason: string): void {
    if (this.ended.aborted) return;
    this.life.abort(new Error(reason));
    this.questions.close();
    this.running.clear();
    this.buffer.clear();
  }
}

import { ChangeThrottle } from '../../../src/exchange/change-throttle.js';
import { hasVersionHeader, isLegacyRevision } from '../revisions.js';
import type { UpstreamContext } from '../../adapter.js';
import { authorizationFor } from '../../../src/auth/upstream-authorization.js';
import { now } from '../../../src/clock/clock.js';
import type { Caller, Conversation } from '../../../src/exchange/exchange.js';
import type { FailedOutcome } from '../../../src/exchange/outcome.js';
import { METHOD_NOT_FOUND } from '../../../src/jsonrpc/error-code.js';
import type { Message } from '../../../src/jsonrpc/message.js';
import { printNotification, printRequest } from '../../../src/jsonrpc/print.js';
import { UNSUPPORTED_PROTOCOL_VERSION, supportedVersions } from '../../../src/translation/error.js';
import { nextId } from '../../../src/upstreams/id-source.js';
import { readResponse } from '../../../src/upstreams/response-reader.js';
import type { ResponseEnd } from '../../../src/upstreams/response-reader.js';
import { errorMessageIn, upstreamError } from '../../../src/upstreams/upstream-error.js';
import { withTimeout } from '../../../src/upstreams/with-timeout.js';
import { readMessages } from './incoming.js';
import { InteractiveCalls } from './interactive-calls.js';
import { ProgressRoutes } from './progress-routes.js';
import { ResourceSubscriptions } from './resource-subscriptions.js';
import { ResponseQueue } from './response-queue.js';
import { ServerStream } from './server-stream.js';

/** How long an upstream has, behind the answer to a ping, to act on what it read before, in milliseconds. */
const SETTLE_MS = 200;
/** How long the gateway waits for the answer to a notification, a response or a DELETE, in milliseconds. */
const CONTROL_TIMEOUT_MS = 10_000;

/** How long a question that belongs to no call waits for one, in milliseconds. */
const HOLD_MS = 15_000;

/** Bursts of one change within this many milliseconds become two notifications at most. */
const THROTTLE_MS = 200;

/** Who hears what belongs to no call of a session. */
export interface SessionWatcher {
  /** A notification came, on whatever stream. */
  notification?(notification: Message): void;
  /** A change was told of; bursts are coalesced. */
  change?(change: Message): void;
  /** Changes may have gone by unheard. */
  gap?(): void;
  /** The session is over, whoever ended it. */
  over?(): void;
}

/** A call that runs on a session, as far as the session can act on it. */
export interface SessionCall {
  /** The session is over. @param known the upstream still knows it, and can be told things on it */
  sessionEnded(known: boolean): void;
}

/**
 * One session with a legacy upstream.
 * @see /specification/2025-11-25/basic/transports#session-management
 */
export class UpstreamSession {
  /** Exchanges running on it; a session in use is never evicted. */
  users = 0;
  lastUsed = now();
  /** The log level last asked of the upstream for clients that state theirs on each request. */
  logLevel: string | undefined;
  ended = false;
  /** Resolves when the upstream has taken the client's `initialized`; undefined while none is on its way. */
  beginning: Promise<void> | undefined;
  /** Calls in flight during which this session's client may be asked. */
  readonly interactive: InteractiveCalls;
  /** Everything that must not outlive the session. */
  readonly calls = new Set<SessionCall>();
  readonly subscriptions = new ResourceSubscriptions(this);
  readonly progress = new ProgressRoutes();
  /** The upstream no longer knows the session. Set by whoever keeps it. */
  onLost: () => void = () => undefined;
  private readonly responses = new ResponseQueue((text) => this.post(text));
  private stream: ServerStream | undefined;
  private readonly watchers = new Set<SessionWatcher>();
  /** One for all watchers: a timer for each would cost more than telling it. */
  private readonly throttle = new ChangeThrottle(THROTTLE_MS, (change) => this.tell(change));

  constructor(
    readonly context: UpstreamContext,
    readonly key: string,
    /** The `Mcp-Session-Id`; absent when the upstream keeps no sessions. */
    readonly id: string | undefined,
    readonly revision: string,
    /** The upstream's InitializeResult message. */
    readonly initialize: Message,
    /** Whose credential background work uses; renewed by each exchange. Memory only. */
    public caller: Caller,
    /** JSON text of the `ClientCapabilities` declared at `initialize`. */
    readonly capabilities: string,
  ) {
    this.interactive = new InteractiveCalls(Math.min(HOLD_MS, context.config.timeouts.questionMs), () =>
      this.post(printNotification('notifications/roots/list_changed')),
    );
  }

  get conversation(): Conversation | undefined {
    return this.caller.conversation;
  }

  /** The headers of a request on this session. */
  headers(caller: Caller): Record<string, string> {
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    if (this.id !== undefined) headers['mcp-session-id'] = this.id;
    if (hasVersionHeader(this.revision)) headers['mcp-protocol-version'] = this.revision;
    const authorization = authorizationFor(this.context.upstream, caller);
    if (authorization !== undefined) headers['authorization'] = authorization;
    return headers;
  }

  /** The headers of a GET that opens a stream of this session, or goes on with one. @param cursor the last event id */
  streamHeaders(cursor: string | undefined): Record<string, string> {
    const { 'content-type': _type, ...headers } = this.headers(this.caller);
    headers['accept'] = 'text/event-stream';
    if (cursor !== undefined) headers['last-event-id'] = cursor;
    return headers;
  }

  /**
   * Progress came in, on whatever stream.
   * @param tell tells the client of the session, for a task whose call is over
   */
  routeProgress(message: Message, tell: (message: Message) => void): void {
    if (this.progress.deliver(message, tell)) return;
    this.context.log.debug({ upstream: this.context.name }, 'dropped progress for an unknown token');
  }

  /**
   * Posts the response to a request of the upstream. Resolves when the upstream has taken it; with undefined when it asks
   * faster than it takes answers, and this one is one too many.
   */
  async respond(text: string): Promise<ResponseEnd | undefined> {
    return this.ended ? undefined : this.responses.send(text);
  }

  /**
   * Posts a notification. Resolves when the upstream has answered, with whatever it answered; real servers answer 202, 204,
   * or 200 with `null`, and all of that is fine.
   */
  async post(text: string, caller: Caller = this.caller): Promise<ResponseEnd> {
    return send(this.context, 'POST', this.headers(caller), text);
  }

  /**
   * The client's `initialized` is on its way: what the client sends after it must not overtake it, because servers refuse
   * requests before it.
   * @see /specification/2025-11-25/basic/lifecycle#initialization
   */
  begins(posting: Promise<unknown>): void {
    this.beginning = posting.then(() => {
      this.beginning = undefined;
    });
  }

  /** Opens the standalone stream, once. Resolves with whether the upstream offers one. */
  openStream(): Promise<boolean> {
    if (this.ended) return Promise.resolve(false);
    // What was refused, perhaps for a credential that ran out, is asked for anew by whoever wants it next.
    if (this.stream?.refused === true) this.stream = undefined;
    this.stream ??= new ServerStream(this);
    return this.stream.open();
  }

  /** Whether the standalone stream is open, or about to be resumed. */
  get streaming(): boolean {
    return this.stream?.offers === true;
  }

  /** Which connection of the standalone stream is open right now; undefined while none is. */
  get streamConnection(): number | undefined {
    return this.stream?.connection;
  }

  watch(watcher: SessionWatcher): void {
    this.watchers.add(watcher);
  }

  unwatch(watcher: SessionWatcher): void {
    this.watchers.delete(watcher);
  }

  /** A notification came in that belongs to no call. */
  change(message: Message): void {
    for (const watcher of [...this.watchers]) watcher.notification?.(message);
    this.throttle.offer(message);
  }

  private tell(change: Message): void {
    for (const watcher of [...this.watchers]) watcher.change?.(change);
  }

  /** The standalone stream broke, and what came meanwhile cannot be had any more. */
  gap(): void {
    for (const watcher of [...this.watchers]) watcher.gap?.();
  }

  /** Asks the upstream whether it still knows the session: a 404 to something else may mean other things. */
  async check(): Promise<void> {
    await this.request('ping', '{}');
  }

  /**
   * Resolves when the upstream can be taken to have acted on what it was told last. When it answers a ping it has read
   * that; what it does then, with files perhaps, it says to nobody.
   */
  async settle(): Promise<void> {
    if (this.ended) return;
    await this.check();
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS).unref());
  }

  /** Sends a request of the gateway's own. Resolves with the response; undefined when there was none. */
  async request(method: string, params: string, caller: Caller = this.caller): Promise<Message | undefined> {
    const id = nextId();
    let response: Message | undefined;
    let answer: () => void = () => undefined;
    const answered = new Promise<undefined>((resolve) => (answer = () => resolve(undefined)));
    const reading = readResponse(
      this.context.http,
      { method: 'POST', headers: this.headers(caller), body: printRequest(id, method, params) },
      {
        onText: (text) => {
          response ??= readMessages(text, this.context).find((message) => message.id === id);
          if (response !== undefined) answer();
        },
      },
      { maxBytes: this.context.config.limits.upstreamMessageBytes },
    );
    // Some servers leave the stream of a response open behind it, and the rest of it is nobody's business.
    const end = await Promise.race([withTimeout(reading, CONTROL_TIMEOUT_MS), answered]);
    if (end?.kind === 'status' && this.isLost(end)) this.onLost();
    return response;
  }

  /** Whether a refusal says that the upstream no longer knows this session. */
  isLost(end: Extract<ResponseEnd, { kind: 'status' }>): boolean {
    const message = errorMessageIn(end.body, this.context.config.limits.jsonDepth);
    const error = message === undefined ? undefined : upstreamError(message, end.head);
    if (error !== undefined && isOfAnotherEra(error)) return true;
    return this.id !== undefined && isLostSession(end.head.status, error, message);
  }

  /** Ends the session, at the upstream too unless the upstream ended it. Resolves when the upstream was told. */
  async end(deleteUpstream: boolean): Promise<void> {
    if (this.ended) return;
    this.ended = true;
    for (const call of [...this.calls]) call.sessionEnded(deleteUpstream);
    this.throttle.close();
    for (const watcher of [...this.watchers]) watcher.over?.();
    this.watchers.clear();
    this.interactive.close();
    this.stream?.close();
    if (!deleteUpstream || this.id === undefined) return;
    const { 'content-type': _type, ...headers } = this.headers(this.caller);
    const end = await send(this.context, 'DELETE', headers);
    if (end.kind === 'failed') {
      this.context.log.debug({ upstream: this.context.name }, 'DELETE of an upstream session failed');
    }
  }
}

/**
 * Whether a refusal says that the session is gone. 404 does, unless its body says that the method is unknown; so does
 * the 400 with which servers that lost their memory answer a session id they have never seen, which names no request.
 * @see /specification/2025-11-25/basic/transports#session-management
 */
function isLostSession(
  status: number,
  error: FailedOutcome | undefined,
  message: Message | undefined,
): boolean {
  if (status === 404) return error?.code !== METHOD_NOT_FOUND;
  return status === 400 && error !== undefined && message?.id === undefined && /session/i.test(error.text);
}

/**
 * Whether a refusal says that a server of another era answers here now, by naming the versions it supports: it knows no
 * session, and has run nothing. The next `initialize` finds out the rest.
 */
function isOfAnotherEra(error: FailedOutcome): boolean {
  if (error.code !== UNSUPPORTED_PROTOCOL_VERSION) return false;
  const supported = supportedVersions(error.data);
  return supported.length > 0 && !supported.some(isLegacyRevision);
}

async function send(
  context: UpstreamContext,
  method: 'POST' | 'DELETE',
  headers: Record<string, string>,
  body?: string,
): Promise<ResponseEnd> {
  let take: (end: ResponseEnd) => void = () => undefined;
  // The status says it all, and some servers never end the body behind it.
  const taken = new Promise<ResponseEnd>((resolve) => (take = resolve));
  const reading = readResponse(
    context.http,
    { method, headers, ...(body !== undefined && { body }) },
    {
      onText: () => undefined,
      onHead: (head) => {
        if (head.status < 300) take({ kind: 'ended', head, stream: false });
      },
    },
    { maxBytes: context.config.limits.upstreamMessageBytes },
  );
  return Promise.race([withTimeout(reading, CONTROL_TIMEOUT_MS), taken]);
}

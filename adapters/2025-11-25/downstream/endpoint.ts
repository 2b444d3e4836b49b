import type { DownstreamContext, DownstreamHalf, Incoming } from '../../adapter.js';
import { offeredChanges } from '../offered-changes.js';
import { LATEST_LEGACY, hasBatches, isLegacyRevision } from '../revisions.js';
import { principalOfRequest } from '../../../src/auth/principal.js';
import { now } from '../../../src/clock/clock.js';
import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import type { Activity } from '../../../src/exchange/activity.js';
import type { ClientDescription, Era, Relay } from '../../../src/exchange/exchange.js';
import { checkDescription } from '../../../src/exchange/description-limit.js';
import { traceHeaders } from '../../../src/exchange/passed-headers.js';
import { keptText } from '../../../src/exchange/kept-text.js';
import { redraw } from '../../../src/exchange/relabel.js';
import type { HttpReply, HttpRequest } from '../../../src/http/port.js';
import { Draft } from '../../../src/jsonrpc/draft.js';
import { INVALID_REQUEST, METHOD_NOT_FOUND } from '../../../src/jsonrpc/error-code.js';
import { memberOf, stringValue, valueText } from '../../../src/jsonrpc/json-scan.js';
import { type Message, metaOf, paramString, parseMessage } from '../../../src/jsonrpc/message.js';
import { printError, printResult } from '../../../src/jsonrpc/print.js';
import { isLogLevel } from '../../../src/translation/log-level.js';
import { RESERVED_META_KEYS, stripReservedMeta } from '../../../src/translation/reserved-meta.js';
import { initializeResponse } from './initialize.js';
import { PostExchange } from './post-exchange.js';
import { PostReply } from './post-reply.js';
import { resubscribe } from './resubscribe.js';
import type { LegacySession } from './session.js';
import { SessionTable } from './session-table.js';

/** What only the modern era has; relayed, a modern upstream would answer in words this client does not know. */
const FOREIGN_METHODS: ReadonlySet<string> = new Set([
  'server/discover',
  'subscriptions/listen',
  'tasks/update',
]);

/** How long `initialize` waits for the store to take the session, in milliseconds. */
const SAVE_MS = 5000;

/** The gateway as a legacy server. @see /specification/2025-11-25/basic/transports#streamable-http */
export class LegacyEndpoint implements DownstreamHalf {
  readonly era: Era = 'legacy';
  private readonly sessions: SessionTable;

  constructor(private readonly context: DownstreamContext) {
    this.sessions = new SessionTable(context);
  }

  /** Whether a request shows a session this caller owns. */
  knows(request: HttpRequest): boolean {
    return this.sessionOf(request) !== undefined;
  }

  /**
   * Takes the session a request shows out of the store, when this process does not hold it. Undefined: nothing to wait for.
   * Resolves with the name of the living instance that holds it, if one does.
   * @throws GatewayError the store cannot be reached
   */
  lookUp(request: HttpRequest): Promise<string | undefined> | undefined {
    const id = request.headers['mcp-session-id'];
    if (!this.sessions.mayBeStored(id)) return undefined;
    const authorization = request.headers['authorization'];
    return this.sessions.restore(id, principalOfRequest(request), authorization, request.remoteAddress);
  }

  async serve(request: HttpRequest, incoming: Incoming, reply: HttpReply, relay: Relay): Promise<void> {
    const [first] = incoming.messages;
    if (
      request.method === 'POST' &&
      !incoming.batch &&
      first?.kind === 'request' &&
      first.method === 'initialize'
    ) {
      await this.initialize(request, first, reply, relay);
      return;
    }
    const session = this.sessionOf(request);
    // Event ids and an upstream's session mean something at this upstream only.
    if (session?.upstreamName !== relay.name) {
      throw new GatewayError(GATEWAY_CODE.sessionEnded, 'unknown or expired session; initialize again', {
        status: 404,
      });
    }
    this.checkVersion(request, session);
    this.checkStore(request, incoming);
    session.seen(request);
    if (request.method !== 'DELETE') this.resubscribe(request, relay, session);
    if (request.method === 'POST') await this.post(request, incoming, reply, relay, session);
    else if (request.method === 'GET') this.get(request, reply, relay, session);
    else {
      session.end('the client ended the session');
      reply.empty(204);
    }
  }

  activity(): Activity {
    return { sessions: this.sessions.size, parked: 0, questions: this.sessions.openQuestions };
  }

  async close(): Promise<void> {
    await this.sessions.close();
  }

  /** What nobody could keep is not begun. Answers and cancellations need no store. */
  private checkStore(request: HttpRequest, incoming: Incoming): void {
    if (this.context.store.available) return;
    if (request.method === 'POST' && incoming.messages.every(({ kind }) => kind !== 'request')) return;
    throw this.unavailable();
  }

  /** @throws GatewayError the store does not take the session in time */
  private async saved(session: LegacySession): Promise<void> {
    const kept = new Promise<boolean>((resolve) => session.save(() => resolve(true)));
    const late = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), SAVE_MS).unref());
    if (await Promise.race([kept, late])) return;
    session.end('the store did not take the session');
    throw this.unavailable();
  }

  private unavailable(): GatewayError {
    return new GatewayError(
      GATEWAY_CODE.storeUnavailable,
      'the store of sessions cannot be reached; try again later',
      {
        status: 503,
        headers: { 'Retry-After': String(this.context.config.limits.retryAfterSeconds) },
      },
    );
  }

  private sessionOf(request: HttpRequest): LegacySession | undefined {
    return this.sessions.find(request.headers['mcp-session-id'], principalOfRequest(request));
  }

  /** The session knows its version; a header may name another we serve, but not one nobody does. */
  private checkVersion(request: HttpRequest, session: LegacySession): void {
    const named = request.headers['mcp-protocol-version'];
    if (named === undefined || named === session.revision) return;
    if (!this.context.servedRevisions.includes(named)) {
      throw new GatewayError(
        INVALID_REQUEST,
        `unsupported MCP-Protocol-Version (supported: ${this.context.servedRevisions.join(', ')})`,
        { status: 400 },
      );
    }
    this.context.log.debug(
      { named, negotiated: session.revision },
      'the version header differs from the negotiated one; the session counts',
    );
  }

  private async initialize(
    request: HttpRequest,
    message: Message,
    reply: HttpReply,
    relay: Relay,
  ): Promise<void> {
    this.checkStore(request, { messages: [message], batch: false });
    const wanted = paramString(message, 'protocolVersion');
    const params = message.params?.object;
    const info = memberOf(params, 'clientInfo');
    const capabilities = memberOf(params, 'capabilities');
    const { defaultLogLevel } = this.context.config.compat;
    const client: ClientDescription = {
      revision: isLegacyRevision(wanted) ? wanted : LATEST_LEGACY,
      capabilities: capabilities === undefined ? '{}' : keptText(valueText(message.text, capabilities)),
      ...(info !== undefined && { clientInfo: keptText(valueText(message.text, info)) }),
      ...(defaultLogLevel !== 'none' && { logLevel: defaultLogLevel }),
    };
    checkDescription(client, this.context.config.limits.clientDescriptionCharacters);
    const authorization = request.headers['authorization'];
    const session = this.sessions.create(
      client,
      principalOfRequest(request),
      relay.name,
      authorization,
      request.remoteAddress,
    );
    let response;
    try {
      const description = await relay.introduce({
        ...session.introduction(request),
        message: withoutReservedMeta(message),
      });
      response = initializeResponse(message.id ?? 'null', description, client.revision);
    } catch (error) {
      session.end('the upstream refused the client');
      throw error;
    }
    session.client = { ...client, revision: response.revision };
    session.advertised = offeredChanges(
      parseMessage(response.text, { maxDepth: this.context.config.limits.jsonDepth, lenient: true }),
    );
    if (reply.closed) {
      session.end('the client went away before it learnt of its session');
      return;
    }
    // The client may show the id to another process as soon as it has it.
    if (this.context.store.persistent) await this.saved(session);
    this.sessions.enter(session);
    reply.json(200, response.text, { 'Mcp-Session-Id': session.id });
  }

  private get(request: HttpRequest, reply: HttpReply, relay: Relay, session: LegacySession): void {
    const lastEventId = request.headers['last-event-id'];
    if (lastEventId === undefined || lastEventId === '') {
      session.standalone.attachFresh(reply.stream(), session.priming);
      relay.attach(session.introduction(request));
      return;
    }
    session.buffer.expire(now());
    const place = session.buffer.find(lastEventId);
    if (place === undefined) {
      throw new GatewayError(
        INVALID_REQUEST,
        'unknown Last-Event-ID: it names no event of this session; open a new stream without it',
        { status: 400 },
      );
    }
    if (place.kind === 'expired') {
      const sink = reply.stream();
      const stream = session.buffer.open('post', place.requests);
      stream.attach(sink, 0, session.priming);
      for (const id of place.requests) stream.append(session.buffer.evictedError(id), { request: id });
      stream.finish();
      return;
    }
    // Asked first: attaching may let the log go on.
    const missed = place.stream.lostSince(place.after);
    place.stream.attach(reply.stream(), place.after, false);
    if (place.stream.kind === 'standalone') {
      if (missed) session.tellPossibleChanges();
      relay.attach(session.introduction(request));
      return;
    }
    const { closeAfterMs, retryMs } = this.context.config.polling;
    if (session.priming && closeAfterMs > 0) place.stream.pollAfter(closeAfterMs, retryMs);
  }

  private async post(
    request: HttpRequest,
    incoming: Incoming,
    reply: HttpReply,
    relay: Relay,
    session: LegacySession,
  ): Promise<void> {
    if (incoming.batch && !hasBatches(session.revision)) {
      throw new GatewayError(INVALID_REQUEST, 'batches exist in protocol version 2025-03-26 only', {
        status: 400,
      });
    }
    const requests: Message[] = [];
    for (const message of incoming.messages) {
      if (message.kind === 'request') requests.push(message);
      else if (message.kind === 'notification') this.notification(request, message, relay, session);
      else session.questions.take(message);
    }
    if (requests.length === 0) {
      reply.empty(202);
      return;
    }
    const { streamCommitMs } = this.context.config.timeouts;
    const { closeAfterMs, retryMs } = this.context.config.polling;
    const exchanges: PostExchange[] = [];
    const post = new PostReply(
      session,
      reply,
      requests.map((message) => message.id ?? 'null'),
      incoming.batch,
      { commitMs: streamCommitMs, closeAfterMs, retryMs },
      () => {
        for (const exchange of exchanges) exchange.giveUp(abandoned());
      },
    );
    const headers = traceHeaders(request);
    for (const message of requests) {
      const exchange = new PostExchange(withoutReservedMeta(message), session, post, headers);
      exchanges.push(exchange);
    }
    await Promise.all(exchanges.map((exchange) => this.run(exchange, session, post, relay)));
  }

  private async run(
    exchange: PostExchange,
    session: LegacySession,
    post: PostReply,
    relay: Relay,
  ): Promise<void> {
    const { id, method, message } = exchange;
    if (method === 'ping') {
      post.respond(id, printResult(id, '{}'), 200);
      return;
    }
    if (method === 'initialize') {
      // Not by itself, or it would have opened a session: the specification has it out of batches.
      post.respond(id, printError(id, INVALID_REQUEST, 'initialize cannot be part of a batch'), 400);
      return;
    }
    if (FOREIGN_METHODS.has(method)) {
      post.respond(id, printError(id, METHOD_NOT_FOUND, `Method not found: ${method}`), 200);
      return;
    }
    if (method === 'logging/setLevel') {
      const level = stringValue(message.text, memberOf(message.params?.object, 'level'));
      if (isLogLevel(level)) session.setLogLevel(level);
    }
    if (method === 'resources/subscribe' && !session.watched.hasRoomFor(paramString(message, 'uri') ?? '')) {
      post.respond(
        id,
        printError(
          id,
          GATEWAY_CODE.overloaded,
          'this session watches as many resources as the limit allows (subscribedResources)',
        ),
        200,
      );
      return;
    }
    session.register(id, exchange);
    // The streams of the session end with it, so this is the last moment to answer on one.
    const onEnd = () => {
      exchange.cancel();
      if (session.suspended) {
        const text = 'the gateway is shutting down; the request may or may not have run';
        post.respond(id, printError(id, GATEWAY_CODE.shuttingDown, text), 503);
        return;
      }
      const text = 'the session ended while the request was running; initialize again';
      post.respond(id, printError(id, GATEWAY_CODE.sessionEnded, text), 404);
    };
    session.onEnd(onEnd);
    const outcome = await relay.run(exchange);
    if (session.over) return;
    session.offEnd(onEnd);
    session.unregister(id, exchange);
    const uri = paramString(message, 'uri');
    if (outcome.kind === 'complete' && uri !== undefined) session.noteSubscription(method, uri);
    const status = outcome.kind === 'failed' ? statusOf(outcome.status, outcome.origin) : 200;
    const response = exchange.finish(outcome);
    post.respond(id, response, status, outcome.kind === 'failed' ? outcome.headers : undefined);
  }

  private resubscribe(request: HttpRequest, relay: Relay, session: LegacySession): void {
    for (const uri of session.takeUnwatched()) {
      void resubscribe(session, uri, request, relay).then((outcome) => {
        if (outcome.kind !== 'failed') return;
        this.context.log.warn(
          { problem: outcome.text },
          'a subscription could not be made again after a restart',
        );
      });
    }
  }

  private notification(request: HttpRequest, message: Message, relay: Relay, session: LegacySession): void {
    if (message.method === 'notifications/cancelled') {
      const id = memberOf(message.params?.object, 'requestId');
      if (id !== undefined) session.cancel(valueText(message.text, id), paramString(message, 'reason'));
      return;
    }
    // A notification is answered 202 whatever becomes of it; its fate upstream is for the log.
    relay.notify(session.introduction(request), withoutReservedMeta(message)).catch((error: unknown) => {
      const problem = error instanceof Error ? error.message : 'unknown';
      this.context.log.debug(
        { method: message.method, problem },
        'a notification did not reach the upstream',
      );
    });
  }
}

/** The client was away too long with too many calls: it must not wait for this one when it comes back. */
function abandoned(): GatewayError {
  return new GatewayError(
    GATEWAY_CODE.overloaded,
    'too many calls ran without a connection; this one was cancelled and may have run in part',
  );
}

/**
 * Inside a session a JSON-RPC error is a 200: the statuses that mean something there are those about access, load and the
 * session itself, and those of the gateway's own failures.
 */
function statusOf(status: number | undefined, origin: 'upstream' | 'gateway'): number {
  if (status === undefined) return 200;
  if (origin === 'gateway') return status;
  return status === 401 || status === 403 || status === 429 || status >= 500 ? status : 200;
}

/** The message without the reserved keys real hosts leave in it: they are no business of either upstream era. */
function withoutReservedMeta(message: Message): Message {
  const meta = metaOf(message);
  if (meta === undefined || !meta.members.some((member) => RESERVED_META_KEYS.includes(member.key)))
    return message;
  const draft = new Draft(message.text);
  stripReservedMeta(message, draft);
  return redraw(draft);
}

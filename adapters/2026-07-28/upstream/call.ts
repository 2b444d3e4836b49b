import type { UpstreamContext } from '../../adapter.js';
import { callTimeouts } from '../../../src/config/call-timeouts.js';
import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import { CallBudget } from '../../../src/exchange/call-budget.js';
import type { Exchange } from '../../../src/exchange/exchange.js';
import { type FailedOutcome, type Outcome, cancelled, failure } from '../../../src/exchange/outcome.js';
import { redraw, withProgressToken } from '../../../src/exchange/relabel.js';
import { Draft } from '../../../src/jsonrpc/draft.js';
import { memberOf, valueText } from '../../../src/jsonrpc/json-scan.js';
import {
  InvalidMessageError,
  type Message,
  idKey,
  metaOf,
  parseMessage,
} from '../../../src/jsonrpc/message.js';
import { progressTokenOf, retokenRequest } from '../../../src/translation/progress.js';
import {
  RESERVED_META,
  reservedMeta,
  reservedMetaString,
  setRequestMeta,
} from '../../../src/translation/reserved-meta.js';
import { resultTypeOf } from '../../../src/translation/result.js';
import { nextId } from '../../../src/upstreams/id-source.js';
import {
  type ReadingRequest,
  type ResponseEnd,
  readResponse,
} from '../../../src/upstreams/response-reader.js';
import {
  errorMessageIn,
  invalidResponse,
  statusError,
  upstreamError,
} from '../../../src/upstreams/upstream-error.js';
import { requestHeaders } from './headers.js';

/** How long a stream may stay open behind its response, in milliseconds. */
const LINGER_MS = 2000;

/** Refusals in 4xx that say nothing of the upstream's era: credentials, time, size, rate. */
const NOT_ABOUT_ERA: ReadonlySet<number> = new Set([401, 403, 408, 413, 429]);

/** How a call ended: with an outcome, or with the answer lost on the way. */
export type CallEnd =
  | { readonly kind: 'outcome'; readonly outcome: Outcome }
  | { readonly kind: 'unknown'; readonly outcome: FailedOutcome };

/**
 * One request to a modern upstream: one POST, whose response is JSON or a stream that ends with the response.
 * Closing it is the cancellation.
 * @see /specification/2026-07-28/basic/transports/streamable-http#sending-messages
 */
export class ModernCall {
  private readonly id = nextId();
  private readonly listens: boolean;
  private readonly budget: CallBudget | undefined;
  private reading: ReadingRequest | undefined;
  private streaming = false;
  private ended = false;
  private problem: string | undefined;
  private resolve!: (end: CallEnd) => void;
  private readonly finished = new Promise<CallEnd>((resolve) => (this.resolve = resolve));
  private readonly onCancel = () => this.end({ kind: 'outcome', outcome: cancelled() });

  /** @param revision the revision to speak, for a client that states none */
  constructor(
    private readonly context: UpstreamContext,
    private readonly exchange: Exchange,
    private readonly revision: string,
  ) {
    this.listens = exchange.method === 'subscriptions/listen';
    const { callMs, callMaxMs } = callTimeouts(context.config, context.upstream);
    // A subscription is meant to stay; its end is the client's or the upstream's business.
    this.budget = this.listens ? undefined : new CallBudget(callMs, callMaxMs, () => this.expire());
  }

  /** Sends the request; resolves once, with its end. */
  run(): Promise<CallEnd> {
    const { exchange, context } = this;
    if (exchange.signal.aborted) {
      this.onCancel();
      return this.finished;
    }
    exchange.signal.addEventListener('abort', this.onCancel, { once: true });
    const { message, client } = exchange;
    const draft = new Draft(message.text);
    draft.set(message.root, 'id', this.id);
    const stated = reservedMetaString(message, 'protocolVersion');
    if (stated === undefined) {
      setRequestMeta(message, draft, {
        protocolVersion: this.revision,
        capabilities: client.capabilities,
        ...(client.clientInfo !== undefined && { clientInfo: client.clientInfo }),
        ...(client.logLevel !== undefined && { logLevel: client.logLevel }),
      });
    }
    if (exchange.progressToken !== undefined) retokenRequest(message, draft, this.id);
    const headers = requestHeaders(
      context,
      exchange.caller,
      message,
      stated ?? this.revision,
      exchange.headers,
    );
    this.reading = readResponse(
      context.http,
      {
        method: 'POST',
        headers,
        body: draft.print(),
        longLived: exchange.method === 'subscriptions/listen',
      },
      {
        onStream: () => {
          this.streaming = true;
          if (!this.ended) exchange.begin();
        },
        onText: (text) => this.take(text),
      },
      { maxBytes: context.config.limits.upstreamMessageBytes },
    );
    void this.reading.done.then((end) => this.finish(end));
    return this.finished;
  }

  private take(text: string): void {
    if (this.ended) return;
    let message: Message;
    try {
      message = parseMessage(text, { maxDepth: this.context.config.limits.jsonDepth, lenient: true });
    } catch (error) {
      if (!(error instanceof InvalidMessageError)) throw error;
      this.problem = error.message;
      this.context.log.warn(
        { upstream: this.context.name, problem: error.message },
        'the upstream sent no JSON-RPC message',
      );
      // No better response will follow, so nobody should wait for it.
      if (error.isResponse && error.id !== undefined && idKey(error.id) === idKey(this.id)) {
        const invalid = invalidResponse(this.context.name, this.exchange.method, error.message);
        this.end({ kind: 'outcome', outcome: failure(invalid) });
      }
      return;
    }
    this.budget?.renew();
    this.route(message);
  }

  private route(received: Message): void {
    if (received.kind === 'request') {
      this.context.log.warn(
        { upstream: this.context.name, method: received.method },
        'a modern upstream sent a request on a stream; ignored',
      );
      return;
    }
    if (received.kind === 'notification') {
      this.relayNotification(received);
      return;
    }
    if (received.id !== undefined && idKey(received.id) !== idKey(this.id)) {
      this.context.log.warn(
        { upstream: this.context.name },
        'the upstream answered a request nobody sent here',
      );
      return;
    }
    if (received.kind === 'error') {
      this.end({ kind: 'outcome', outcome: upstreamError(received) });
      return;
    }
    const message = this.listens ? this.withSubscription(received) : received;
    const kind = resultTypeOf(message) === 'input_required' ? 'inputRequired' : 'complete';
    this.end({ kind: 'outcome', outcome: { kind, message } });
  }

  private relayNotification(message: Message): void {
    let relayed = message;
    if (message.method === 'notifications/progress') {
      const own = this.exchange.progressToken;
      if (own === undefined || progressTokenOf(message) !== this.id) {
        this.context.log.debug({ upstream: this.context.name }, 'dropped progress for an unknown token');
        return;
      }
      relayed = withProgressToken(message, own);
    } else if (message.method === 'notifications/cancelled') {
      const teardown = this.teardown(message);
      if (teardown === undefined) return;
      relayed = teardown;
    } else if (this.listens) {
      relayed = this.withSubscription(message);
    }
    if (!this.exchange.notify(relayed)) {
      const { reading } = this;
      reading?.pause();
      this.exchange.onReady(() => reading?.resume());
    }
  }

  /**
   * The notice that the server ends a subscription, under the client's own id. Undefined for any other cancellation: a
   * server sends none, and to a client the id would name something else, or a question it is just being asked.
   * @see /specification/2026-07-28/basic/patterns/cancellation
   */
  private teardown(message: Message): Message | undefined {
    const params = message.params?.object;
    const named = memberOf(params, 'requestId');
    if (!this.listens || params === undefined || named === undefined) return undefined;
    const own = valueText(message.text, named);
    if (idKey(own) !== idKey(this.id)) return undefined;
    const draft = new Draft(message.text);
    draft.set(params, 'requestId', this.exchange.id);
    return this.withSubscription(redraw(draft));
  }

  /** A subscription is named by the id of its request, and the client knows its own id. */
  private withSubscription(message: Message): Message {
    const meta = metaOf(message);
    const named = reservedMeta(message, 'subscriptionId');
    if (meta === undefined || named === undefined) return message;
    const draft = new Draft(message.text);
    draft.set(meta, RESERVED_META.subscriptionId, this.exchange.id);
    return redraw(draft);
  }

  private finish(end: ResponseEnd): void {
    if (this.ended) return;
    const { name } = this.context;
    if (end.kind === 'failed') {
      const certain = !end.sent || end.error.code === GATEWAY_CODE.upstreamProtocol;
      this.end({ kind: certain ? 'outcome' : 'unknown', outcome: failure(end.error) });
    } else if (end.kind === 'status') {
      this.end({ kind: 'outcome', outcome: this.refused(end) });
    } else if (end.stream) {
      const text = this.listens
        ? `the upstream ${name} ended the subscription without saying so`
        : `the upstream ${name} ended its stream without a response; the request may or may not have run`;
      const error = new GatewayError(GATEWAY_CODE.outcomeUnknown, text, { status: 502 });
      this.end({ kind: 'unknown', outcome: failure(error) });
    } else {
      const why = this.problem === undefined ? '' : ` (${this.problem})`;
      const error = new GatewayError(
        GATEWAY_CODE.upstreamProtocol,
        `the upstream ${name} answered ${this.exchange.method} with no JSON-RPC response${why}`,
        { status: 502 },
      );
      this.end({ kind: 'outcome', outcome: failure(error) });
    }
  }

  private refused(end: Extract<ResponseEnd, { kind: 'status' }>): FailedOutcome {
    const message = errorMessageIn(end.body, this.context.config.limits.jsonDepth);
    const { status } = end.head;
    if (message !== undefined) {
      const outcome = upstreamError(message, end.head);
      const legacy = outcome.code === -32000 && /session|initializ/i.test(outcome.text);
      return legacy ? { ...outcome, contradiction: `HTTP ${status}: ${outcome.text}` } : outcome;
    }
    const outcome = failure(statusError(end.head, this.context.name));
    const legacy = status >= 400 && status < 500 && !NOT_ABOUT_ERA.has(status);
    return legacy ? { ...outcome, contradiction: `HTTP ${status} without a JSON-RPC error` } : outcome;
  }

  private expire(): void {
    const error = new GatewayError(
      GATEWAY_CODE.upstreamTimeout,
      `the upstream ${this.context.name} did not finish ${this.exchange.method} in time`,
      { status: 504 },
    );
    this.end({ kind: 'outcome', outcome: failure(error) });
  }

  private end(end: CallEnd): void {
    if (this.ended) return;
    this.ended = true;
    this.budget?.stop();
    this.exchange.signal.removeEventListener('abort', this.onCancel);
    if (end.kind === 'outcome' && end.outcome.kind !== 'failed') this.linger();
    else this.reading?.abort();
    this.resolve(end);
  }

  /** A stream normally ends right behind its response; cutting it would cost the connection, waiting for ever too. */
  private linger(): void {
    const { reading } = this;
    if (!this.streaming || reading === undefined) return;
    const timer = setTimeout(() => reading.abort(), LINGER_MS);
    timer.unref();
    void reading.done.then(() => clearTimeout(timer));
  }
}

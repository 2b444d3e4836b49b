import type { UpstreamContext } from '../../adapter.js';
import { statedReason } from '../stated-reason.js';
import { callTimeouts } from '../../../src/config/call-timeouts.js';
import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import { CallBudget } from '../../../src/exchange/call-budget.js';
import type { Exchange } from '../../../src/exchange/exchange.js';
import { type FailedOutcome, type Outcome, cancelled, failure } from '../../../src/exchange/outcome.js';
import type { Answer, Question } from '../../../src/exchange/question.js';
import { withProgressToken } from '../../../src/exchange/relabel.js';
import { Draft } from '../../../src/jsonrpc/draft.js';
import { METHOD_NOT_FOUND } from '../../../src/jsonrpc/error-code.js';
import { type InvalidMessageError, type Message, type RawId, idKey } from '../../../src/jsonrpc/message.js';
import { printNotification } from '../../../src/jsonrpc/print.js';
import { INTERACTIVE_METHODS } from '../../../src/translation/question.js';
import { stripReservedMeta } from '../../../src/translation/reserved-meta.js';
import { retokenRequest } from '../../../src/translation/progress.js';
import { Backoff } from '../../../src/upstreams/backoff.js';
import { SeenEvents } from '../../../src/sse/seen-events.js';
import { nextId } from '../../../src/upstreams/id-source.js';
import {
  type ReadingRequest,
  type ResponseEnd,
  type ResponseReader,
  readResponse,
} from '../../../src/upstreams/response-reader.js';
import {
  errorMessageIn,
  invalidResponse,
  statusError,
  upstreamError,
} from '../../../src/upstreams/upstream-error.js';
import { readMessages } from './incoming.js';
import type { InteractiveCall } from './interactive-calls.js';
import type { ProgressSink } from './progress-routes.js';
import type { SessionCall, UpstreamSession } from './session.js';
import { UpstreamQuestions } from './upstream-questions.js';

/** How long a stream may stay open behind its response, in milliseconds. */
const LINGER_MS = 2000;

/** How a call ended: with an outcome, or with the news that the upstream knows the session no more. */
export type CallEnd =
  | { readonly kind: 'outcome'; readonly outcome: Outcome }
  | { readonly kind: 'sessionLost' }
  /** The answer was lost on the way; the request may or may not have run. */
  | { readonly kind: 'unknown'; readonly outcome: FailedOutcome };

/**
 * One request on an upstream session, from POST to response: the notifications and questions on its stream, the
 * resumption of that stream when the upstream or the network cut it, and the cancellation.
 * @see /specification/2025-11-25/basic/transports#sending-messages-to-the-server
 */
export class LegacyCall implements SessionCall, ProgressSink {
  private readonly id = nextId();
  private readonly context: UpstreamContext;
  private readonly budget: CallBudget;
  private readonly backoff = new Backoff(250, 15_000);
  private readonly seen = new SeenEvents();
  private readonly questions: UpstreamQuestions;
  private reading: ReadingRequest | undefined;
  private cursor: string | undefined;
  private retryMs = 0;
  private retryTimer: NodeJS.Timeout | undefined;
  private streaming = false;
  private ended = false;
  private sent = false;
  /** Resolves when the upstream has heard of the cancellation, if there was one. */
  private told: Promise<unknown> | undefined;
  private resolve!: (end: CallEnd) => void;
  private readonly finished = new Promise<CallEnd>((resolve) => (this.resolve = resolve));
  private readonly onCancel = () => this.cancel();
  /** How a question from outside the call reaches this call's client. */
  private readonly interactive: InteractiveCall | undefined;

  constructor(
    private readonly session: UpstreamSession,
    private readonly exchange: Exchange,
  ) {
    this.context = session.context;
    const { callMs, callMaxMs } = callTimeouts(this.context.config, this.context.upstream);
    this.budget = new CallBudget(callMs, callMaxMs, () => this.expire());
    this.questions = new UpstreamQuestions(session, {
      limit: this.context.config.limits.openQuestions,
      ask: (question, signal) => this.ask(question, signal),
    });
    if (session.conversation === undefined && INTERACTIVE_METHODS.has(exchange.method)) {
      this.interactive = { ask: (question, signal) => this.ask(question, signal) };
    }
  }

  get token(): RawId {
    return this.id;
  }

  /** Sends the request; resolves once, with its end. */
  run(): Promise<CallEnd> {
    if (this.exchange.signal.aborted) {
      this.end({ kind: 'outcome', outcome: cancelled() });
      return this.finished;
    }
    this.exchange.signal.addEventListener('abort', this.onCancel, { once: true });
    this.session.calls.add(this);
    if (this.exchange.progressToken !== undefined) this.session.progress.add(this);
    const ready = this.interactive && this.session.interactive.add(this.interactive);
    if (ready === undefined) this.send();
    else void ready.then(() => this.send());
    return this.finished;
  }

  private send(): void {
    if (this.ended) return;
    this.sent = true;
    const headers = { ...this.session.headers(this.exchange.caller), ...this.exchange.headers };
    this.read({ method: 'POST', headers, body: this.requestText() }, (end) => this.afterPost(end));
  }

  /** The session is over: no answer will come any more. @param known the upstream still knows the session */
  sessionEnded(known: boolean): void {
    if (this.ended) return;
    // What has no answer yet will get one from an upstream that forgot the session: most likely that it did not run.
    if (!known && !this.streaming) return;
    if (known) this.tellCancelled('the session ended');
    const error = new GatewayError(
      GATEWAY_CODE.outcomeUnknown,
      `the session with the upstream ${this.context.name} ended without a response; the request may or may not have run`,
      { status: 502 },
    );
    this.end({ kind: 'unknown', outcome: failure(error) });
  }

  private requestText(): string {
    const { message, progressToken } = this.exchange;
    const draft = new Draft(message.text);
    draft.set(message.root, 'id', this.id);
    stripReservedMeta(message, draft);
    if (progressToken !== undefined) retokenRequest(message, draft, this.id);
    return draft.print();
  }

  private read(request: Parameters<typeof readResponse>[1], then: (end: ResponseEnd) => void): void {
    this.seen.connect();
    const reader: ResponseReader = {
      onStream: () => {
        this.streaming = true;
        if (!this.ended) this.exchange.begin();
      },
      onText: (text, id) => {
        const repeated = this.seen.repeats(id);
        for (const message of readMessages(text, this.context, (error) => this.spoilt(error))) {
          if (this.ended) return;
          // A response is taken whatever its event id: there is one only, and without it the call would never end.
          if (repeated && message.method !== undefined) continue;
          this.backoff.reset();
          this.budget.renew();
          this.route(message);
        }
      },
      onCursor: (id) => {
        this.cursor = id;
      },
      onRetry: (ms) => {
        this.retryMs = ms;
      },
    };
    const reading = readResponse(this.context.http, request, reader, {
      maxBytes: this.context.config.limits.upstreamMessageBytes,
    });
    this.reading = reading;
    void reading.done.then((end) => {
      if (!this.ended) then(end);
    });
  }

  private afterPost(end: ResponseEnd): void {
    if (end.kind === 'status') this.end(this.refused(end));
    else if (end.kind === 'failed' && !end.sent) this.end({ kind: 'outcome', outcome: failure(end.error) });
    else if (end.kind === 'failed' && end.error.code === GATEWAY_CODE.upstreamProtocol)
      this.end({ kind: 'outcome', outcome: failure(end.error) });
    else if (this.streaming && this.cursor !== undefined) this.resumeLater();
    else if (end.kind === 'failed') this.end({ kind: 'unknown', outcome: failure(end.error) });
    else this.end(this.noResponse(end.stream));
  }

  private noResponse(stream: boolean): CallEnd {
    if (!stream) {
      return {
        kind: 'outcome',
        outcome: failure(
          new GatewayError(
            GATEWAY_CODE.upstreamProtocol,
            `the upstream ${this.context.name} answered ${this.exchange.method} with no JSON-RPC response`,
            { status: 502 },
          ),
        ),
      };
    }
    return {
      kind: 'unknown',
      outcome: failure(
        new GatewayError(
          GATEWAY_CODE.outcomeUnknown,
          `the upstream ${this.context.name} ended its stream without a response; the request may or may not have run`,
          { status: 502 },
        ),
      ),
    };
  }

  private refused(end: Extract<ResponseEnd, { kind: 'status' }>): CallEnd {
    const message = errorMessageIn(end.body, this.context.config.limits.jsonDepth);
    const error = message === undefined ? undefined : upstreamError(message, end.head);
    if (this.session.isLost(end)) return { kind: 'sessionLost' };
    if (error !== undefined) return { kind: 'outcome', outcome: error };
    return { kind: 'outcome', outcome: failure(statusError(end.head, this.context.name)) };
  }

  /** The stream was cut before the response: its rest is fetched by GET with the last event id. */
  private resumeLater(): void {
    this.retryTimer = setTimeout(() => {
      this.read({ method: 'GET', headers: this.session.streamHeaders(this.cursor) }, (end) => {
        if (
          end.kind === 'status' &&
          end.head.status >= 400 &&
          end.head.status < 500 &&
          end.head.status !== 429
        ) {
          this.end(this.noResponse(true));
          // Whether the session is gone or only this stream, the next request need not be the one to find out.
          if (end.head.status === 404) void this.session.check();
        } else {
          this.resumeLater();
        }
      });
    }, this.backoff.next(this.retryMs));
    this.retryTimer.unref();
  }

  private route(message: Message): void {
    if (message.kind === 'request') {
      void this.answer(message);
      return;
    }
    if (message.kind === 'notification') {
      this.relayNotification(message);
      return;
    }
    // An error whose request the upstream could not read has no id: it can only mean this one.
    if (message.id !== undefined && idKey(message.id) !== idKey(this.id)) {
      this.context.log.warn(
        { upstream: this.context.name },
        'the upstream answered a request nobody sent here',
      );
      return;
    }
    const outcome: Outcome =
      message.kind === 'result'
        ? { kind: 'complete', message, server: this.session.initialize }
        : upstreamError(message);
    this.end({ kind: 'outcome', outcome });
  }

  private relayNotification(message: Message): void {
    if (message.method === 'notifications/cancelled') {
      this.questions.withdraw(message);
      return;
    }
    // A session without a client of its own hears of changes on every stream, for whoever watches.
    if (this.session.conversation === undefined) this.session.change(message);
    if (message.method !== 'notifications/progress') this.tell(message);
    else this.session.routeProgress(message, (ofTask) => this.tell(ofTask));
  }

  /** Progress of this call, on whatever stream it came. */
  progress(message: Message): void {
    const own = this.exchange.progressToken;
    if (own !== undefined) this.tell(withProgressToken(message, own));
  }

  private tell(message: Message): void {
    if (!this.exchange.notify(message)) {
      this.reading?.pause();
      const { reading } = this;
      this.exchange.onReady(() => reading?.resume());
    }
  }

  /** A response to this call that is no JSON-RPC: no better one will follow, so nobody should wait for it. */
  private spoilt({ id, isResponse, message }: InvalidMessageError): void {
    if (!isResponse || id === undefined || idKey(id) !== idKey(this.id)) return;
    this.end({
      kind: 'outcome',
      outcome: failure(invalidResponse(this.context.name, this.exchange.method, message)),
    });
  }

  private async answer(message: Message): Promise<void> {
    // The server must hear of the end of a call before it hears that nobody answers during it, or it would act on that.
    const end = await this.questions.answer(message, () => this.told);
    // The call waits for an answer that its session can no longer take.
    if (end?.kind === 'status' && this.session.isLost(end)) {
      this.end(this.noResponse(true));
      this.session.onLost();
    }
  }

  private async ask(question: Question, signal: AbortSignal): Promise<Answer> {
    this.budget.hold();
    try {
      const [answer] = await this.exchange.ask([question], signal);
      if (answer === undefined) throw new GatewayError(METHOD_NOT_FOUND, 'no answer');
      return answer;
    } finally {
      this.budget.release();
    }
  }

  /** The client cancels: the upstream is told with the id it knows, on the session that runs the call. */
  private cancel(): void {
    if (this.ended) return;
    this.tellCancelled(statedReason(this.exchange.signal) ?? 'the client cancelled the request');
    this.end({ kind: 'outcome', outcome: cancelled() });
  }

  private expire(): void {
    if (this.ended) return;
    this.tellCancelled('the call took too long');
    const error = new GatewayError(
      GATEWAY_CODE.upstreamTimeout,
      `the upstream ${this.context.name} did not finish ${this.exchange.method} in time`,
      { status: 504 },
    );
    this.end({ kind: 'outcome', outcome: failure(error) });
  }

  private tellCancelled(reason: string): void {
    if (!this.sent) return;
    const params = `{"requestId":${this.id},"reason":${JSON.stringify(reason)}}`;
    this.told = this.session.post(printNotification('notifications/cancelled', params), this.exchange.caller);
  }

  private end(end: CallEnd): void {
    if (this.ended) return;
    this.ended = true;
    this.budget.stop();
    clearTimeout(this.retryTimer);
    this.exchange.signal.removeEventListener('abort', this.onCancel);
    this.session.calls.delete(this);
    const complete =
      end.kind === 'outcome' && end.outcome.kind === 'complete' ? end.outcome.message : undefined;
    this.session.progress.delete(this, complete, this.exchange.progressToken);
    if (this.interactive !== undefined) this.session.interactive.delete(this.interactive);
    this.questions.close();
    if (end.kind === 'outcome' && end.outcome.kind === 'complete') this.linger();
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

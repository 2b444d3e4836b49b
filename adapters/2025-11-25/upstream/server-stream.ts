import { GatewayError } from '../../../src/errors/gateway-error.js';
import type { Question } from '../../../src/exchange/question.js';
import type { Message } from '../../../src/jsonrpc/message.js';
import { QUESTION_METHODS, missingCapability, undeclaredCode } from '../../../src/translation/question.js';
import { SeenEvents } from '../../../src/sse/seen-events.js';
import { Backoff } from '../../../src/upstreams/backoff.js';
import { type ReadingRequest, readResponse } from '../../../src/upstreams/response-reader.js';
import { readMessages } from './incoming.js';
import type { InteractiveCalls } from './interactive-calls.js';
import type { UpstreamSession } from './session.js';
import { UpstreamQuestions } from './upstream-questions.js';

/** How long opening the stream may take before it counts as not offered, in milliseconds. */
const OPEN_MS = 5000;

/** How many times as many questions may be open here as during one call. */
const OUTSIDE = 10;

/**
 * The standalone GET stream of an upstream session: messages that belong to no request.
 * The gateway is a correct client of it: it remembers ids, obeys `retry`, resumes with `Last-Event-ID`, and takes
 * 405 for what it is, "no such stream".
 * @see /specification/2025-11-25/basic/transports#listening-for-messages-from-the-server
 */
export class ServerStream {
  private reading: ReadingRequest | undefined;
  private cursor: string | undefined;
  private retryMs = 0;
  private closed = false;
  private timer: NodeJS.Timeout | undefined;
  private readonly backoff = new Backoff(500, 30_000);
  private readonly seen = new SeenEvents();
  /** The upstream refused it, in words that do not say that it has none. */
  refused = false;
  private begun = false;
  private connections = 0;
  private connected = false;
  private wasOpen = false;
  private settle!: (offered: boolean) => void;
  private readonly offered = new Promise<boolean>((resolve) => {
    this.settle = (offered) => {
      if (offered) this.wasOpen = true;
      resolve(offered);
    };
  });
  private readonly questions: UpstreamQuestions;

  constructor(private readonly session: UpstreamSession) {
    this.questions = new UpstreamQuestions(session, {
      limit: OUTSIDE * session.context.config.limits.openQuestions,
      ask: (question, signal) =>
        (session.conversation ?? this.interactiveCalls(question)).ask(question, signal),
    });
  }

  /** Opens the stream, once. Resolves when it is open, or it is clear that it will not be. */
  open(): Promise<boolean> {
    if (!this.begun) {
      this.begun = true;
      const timer = setTimeout(() => this.settle(false), OPEN_MS);
      timer.unref();
      void this.offered.then(() => clearTimeout(timer));
      this.connect();
    }
    return this.offered;
  }

  /** Whether the upstream opened the stream, and has not refused to since. */
  get offers(): boolean {
    return this.wasOpen && !this.closed && !this.refused;
  }

  /** Which connection of the stream is open, counted from 1; undefined while none is. */
  get connection(): number | undefined {
    return this.connected ? this.connections : undefined;
  }

  private connect(): void {
    const { session } = this;
    if (this.closed || session.ended) return;
    const headers = session.streamHeaders(this.cursor);
    this.seen.connect();
    // Without an id to resume from, what came since the last connection cannot be had any more.
    const gap = this.wasOpen && this.cursor === undefined;
    const reading = readResponse(
      session.context.http,
      { method: 'GET', headers, longLived: true },
      {
        onStream: () => {
          this.connections++;
          this.connected = true;
          this.settle(true);
          if (gap) session.gap();
        },
        onText: (text, id) => {
          this.backoff.reset();
          if (this.seen.repeats(id)) return;
          for (const message of readMessages(text, session.context)) this.route(message);
        },
        onCursor: (id) => {
          this.cursor = id;
        },
        onRetry: (ms) => {
          this.retryMs = ms;
        },
      },
      { maxBytes: session.context.config.limits.upstreamMessageBytes },
    );
    this.reading = reading;
    void reading.done.then((end) => {
      this.connected = false;
      if (this.closed) return;
      if (
        end.kind === 'status' &&
        end.head.status >= 400 &&
        end.head.status < 500 &&
        end.head.status !== 429
      ) {
        const { status } = end.head;
        if (status === 404 && session.id !== undefined) {
          // Some servers answer 404 where they offer no stream; others, when the session is gone.
          this.refused = true;
          void session.check().then(() => this.settle(false));
          return;
        }
        if (status !== 405 && status !== 401 && status !== 403 && this.cursor !== undefined) {
          // An id the upstream no longer knows: a new stream, then.
          this.cursor = undefined;
          this.connectLater();
          return;
        }
        this.refused = status !== 405;
        this.settle(false);
        // 405: the upstream offers no such stream. Anything else in 4xx will not get better by asking again either.
        if (this.refused) {
          session.context.log.info(
            { upstream: session.context.name, status },
            'the upstream refused its standalone stream',
          );
        }
        return;
      }
      this.connectLater();
    });
  }

  private connectLater(): void {
    this.timer = setTimeout(() => this.connect(), this.backoff.next(this.retryMs));
    this.timer.unref();
  }

  close(): void {
    this.closed = true;
    this.settle(false);
    clearTimeout(this.timer);
    this.reading?.abort();
    this.questions.close();
  }

  private route(message: Message): void {
    const { conversation } = this.session;
    if (message.kind === 'request') {
      const answered = this.questions.answer(message);
      if (message.method === 'roots/list' && conversation === undefined) {
        this.session.interactive.rootsWanted(answered.then(() => this.session.settle()));
      }
      return;
    }
    if (message.kind !== 'notification') return;
    if (message.method === 'notifications/cancelled') {
      this.questions.withdraw(message);
      return;
    }
    if (message.method === 'notifications/progress') {
      this.session.routeProgress(message, (ofTask) => conversation?.notify(ofTask));
      return;
    }
    if (conversation === undefined) this.session.change(message);
    else conversation.notify(message);
  }

  /**
   * The calls of a client without a session, one of which may take the question. What this client never declared is
   * refused at once: no innocent call must pay for it.
   * @throws GatewayError
   */
  private interactiveCalls({ method, params }: Question): InteractiveCalls {
    const { capabilities, interactive } = this.session;
    if (!QUESTION_METHODS.has(method) || missingCapability(capabilities, method, params) !== undefined) {
      throw new GatewayError(
        undeclaredCode(capabilities, method),
        `the client did not declare what ${method} needs`,
      );
    }
    return interactive;
  }
}

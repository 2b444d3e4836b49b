import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import type { Caller, ClientDescription, Era, Exchange } from '../../../src/exchange/exchange.js';
import type { FailedOutcome, Outcome } from '../../../src/exchange/outcome.js';
import type { Answer, Question } from '../../../src/exchange/question.js';
import type { EventSink, HttpReply } from '../../../src/http/port.js';
import { Draft } from '../../../src/jsonrpc/draft.js';
import { METHOD_NOT_FOUND } from '../../../src/jsonrpc/error-code.js';
import type { Message, RawId } from '../../../src/jsonrpc/message.js';
import { printError } from '../../../src/jsonrpc/print.js';
import { encodeEvent } from '../../../src/sse/event-encoder.js';
import {
  HEADER_MISMATCH,
  MISSING_CLIENT_CAPABILITY,
  UNSUPPORTED_PROTOCOL_VERSION,
} from '../../../src/translation/error.js';
import { requestedProgressToken } from '../../../src/translation/progress.js';

/**
 * One request of a modern client: one POST, answered with JSON or with a stream that ends with the response. The client
 * closing it is the cancellation, whatever the form.
 * @see /specification/2026-07-28/basic/transports/streamable-http#cancellation
 */
export class PostExchange implements Exchange {
  readonly era: Era = 'modern';
  readonly method: string;
  readonly id: RawId;
  readonly signal: AbortSignal;
  readonly progressToken?: RawId;
  private readonly abort = new AbortController();
  private sink: EventSink | undefined;
  private commitTimer: NodeJS.Timeout | undefined;
  private ended = false;

  /** @param commitMs after this long without a word from the upstream the stream is opened, in milliseconds */
  constructor(
    readonly message: Message,
    readonly client: ClientDescription,
    readonly caller: Caller,
    readonly headers: Readonly<Record<string, string>>,
    private readonly reply: HttpReply,
    commitMs: number,
    private readonly highWaterBytes: number,
  ) {
    this.method = message.method ?? '';
    this.id = message.id ?? 'null';
    this.signal = this.abort.signal;
    const token = requestedProgressToken(message);
    if (token !== undefined) this.progressToken = token;
    reply.onClose(() => this.abort.abort());
    this.commitTimer = setTimeout(() => this.commit(), commitMs);
    this.commitTimer.unref();
  }

  /** An upstream that streams may still refuse with a status of its own: nothing is sent before its first message. */
  begin(): void {
    // Nothing to do: see above.
  }

  notify(message: Message): boolean {
    if (this.ended || this.signal.aborted) return true;
    const sink = this.commit();
    if (sink === undefined) return true;
    const ready = sink.send(encodeEvent(message.text));
    return ready && sink.bufferedBytes < this.highWaterBytes;
  }

  onReady(listener: () => void): void {
    if (this.sink === undefined) listener();
    else this.sink.onDrain(listener);
  }

  ask(_questions: readonly Question[], _signal: AbortSignal): Promise<readonly Answer[]> {
    return Promise.reject(
      new GatewayError(GATEWAY_CODE.notTranslatable, 'questions to modern clients are not supported yet'),
    );
  }

  /** Sends the outcome. */
  finish(outcome: Outcome): void {
    if (this.ended) return;
    this.ended = true;
    clearTimeout(this.commitTimer);
    if (this.reply.closed || this.signal.aborted) return;
    const text = responseText(this.id, outcome);
    if (this.sink !== undefined) {
      this.sink.send(encodeEvent(text));
      this.sink.end();
    } else if (outcome.kind === 'failed') {
      this.reply.json(statusOf(outcome), text, outcome.headers);
    } else {
      this.reply.json(200, text);
    }
  }

  private commit(): EventSink | undefined {
    if (this.sink !== undefined) return this.sink;
    clearTimeout(this.commitTimer);
    if (this.reply.closed || this.reply.started) return undefined;
    this.sink = this.reply.stream();
    return this.sink;
  }
}

/** The response under the client's own id. */
function responseText(id: RawId, outcome: Outcome): string {
  if (outcome.kind === 'failed' && outcome.message === undefined) {
    return printError(id, outcome.code, outcome.text, outcome.data);
  }
  const { message } = outcome;
  if (message === undefined) throw new Error('an outcome without a message');
  const draft = (outcome.kind === 'complete' ? outcome.draft : undefined) ?? new Draft(message.text);
  draft.set(message.root, 'id', id);
  return draft.print();
}

/** Statuses the specification ties to error codes; other errors of a method are a 200. */
const STATUS_OF_CODE: Readonly<Record<number, number>> = {
  [METHOD_NOT_FOUND]: 404,
  [HEADER_MISMATCH]: 400,
  [MISSING_CLIENT_CAPABILITY]: 400,
  [UNSUPPORTED_PROTOCOL_VERSION]: 400,
};

function statusOf(outcome: FailedOutcome): number {
  if (outcome.status !== undefined) return outcome.status;
  return STATUS_OF_CODE[outcome.code] ?? 200;
}

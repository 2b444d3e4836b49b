import { Ending } from '../../../src/exchange/ending.js';
import type { FailedOutcome, Outcome } from '../../../src/exchange/outcome.js';
import type { EventSink, HttpReply } from '../../../src/http/port.js';
import { Draft } from '../../../src/jsonrpc/draft.js';
import { METHOD_NOT_FOUND } from '../../../src/jsonrpc/error-code.js';
import type { Message, RawId } from '../../../src/jsonrpc/message.js';
import { printError, printResult } from '../../../src/jsonrpc/print.js';
import { encodeEvent } from '../../../src/sse/event-encoder.js';
import {
  HEADER_MISMATCH,
  MISSING_CLIENT_CAPABILITY,
  UNSUPPORTED_PROTOCOL_VERSION,
} from '../../../src/translation/error.js';
import { requestedProgressToken } from '../../../src/translation/progress.js';

/** Bounds of one response. */
export interface LegOptions {
  /** After this long without a word from the upstream the stream is opened, in milliseconds. */
  readonly commitMs: number;
  /** Above this many waiting bytes the upstream is asked to pause. */
  readonly highWaterBytes: number;
}

/**
 * One POST and its response: JSON, or a stream that ends with the response. An exchange with questions has several,
 * one after the other.
 * @see /specification/2026-07-28/basic/transports/streamable-http#receiving-messages
 */
export class Leg {
  readonly id: RawId;
  readonly progressToken: RawId | undefined;
  private readonly ending = new Ending();
  private sink: EventSink | undefined;
  private timer: NodeJS.Timeout | undefined;
  private over = false;

  constructor(
    request: Message,
    private readonly reply: HttpReply,
    private readonly options: LegOptions,
  ) {
    this.id = request.id ?? 'null';
    this.progressToken = requestedProgressToken(request);
    this.timer = setTimeout(() => this.commit(), options.commitMs);
    this.timer.unref();
  }

  /** Resolves when the response is complete or the client has gone. */
  get done(): Promise<void> {
    return new Promise((resolve) => this.onDone(resolve));
  }

  /** Calls back once when the response is complete or the client has gone. */
  onDone(listener: () => void): void {
    this.ending.onEnd(listener);
  }

  /** Calls back when the client closes the response before it is complete: its way to cancel. */
  onCancel(listener: () => void): void {
    this.reply.onClose(() => {
      if (this.over) return;
      this.end();
      listener();
    });
  }

  /** Whether anything was sent: an error can no longer have a status of its own. */
  get committed(): boolean {
    return this.sink !== undefined || this.over;
  }

  /** Sends a notification. Returns false when the client reads too slowly. */
  send(json: string): boolean {
    const sink = this.commit();
    if (sink === undefined) return true;
    return sink.send(encodeEvent(json)) && sink.bufferedBytes < this.options.highWaterBytes;
  }

  onReady(listener: () => void): void {
    if (this.sink === undefined) listener();
    else this.sink.onDrain(listener);
  }

  /** Ends the response with an outcome. */
  finish(outcome: Outcome): void {
    const status = outcome.kind === 'failed' ? statusOf(outcome) : 200;
    this.respond(
      responseText(this.id, outcome),
      status,
      outcome.kind === 'failed' ? outcome.headers : undefined,
    );
  }

  /** Ends the response with a result given as JSON text. */
  finishWith(result: string): void {
    this.respond(printResult(this.id, result), 200);
  }

  private respond(text: string, status: number, headers?: Parameters<HttpReply['json']>[2]): void {
    if (this.over) return;
    const { sink } = this;
    this.end();
    if (sink !== undefined) {
      sink.send(encodeEvent(text));
      sink.end();
    } else if (!this.reply.closed && !this.reply.started) {
      this.reply.json(status, text, headers);
    }
  }

  private end(): void {
    this.over = true;
    this.stopTimer();
    this.ending.end();
  }

  private stopTimer(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private commit(): EventSink | undefined {
    if (this.sink !== undefined || this.over) return this.sink;
    this.stopTimer();
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
  return outcome.status ?? STATUS_OF_CODE[outcome.code] ?? 200;
}

import type { LegacySession } from './session.js';
import type { HttpReply } from '../../../src/http/port.js';
import type { RawId } from '../../../src/jsonrpc/message.js';
import type { StreamLog } from '../../../src/replay/stream-log.js';

/** When and how a waiting stream hands its client over to polling. Times in milliseconds. */
export interface ReplyTiming {
  readonly commitMs: number;
  readonly closeAfterMs: number;
  readonly retryMs: number;
}

/**
 * The answer to one POST: plain JSON when the responses come first, or a resumable stream as soon as there is something
 * to say before them or the time is up.
 * @see /specification/2025-11-25/basic/transports#sending-messages-to-the-server
 */
export class PostReply {
  private stream: StreamLog | undefined;
  private readonly responses: { readonly id: RawId; readonly text: string }[] = [];
  private readonly waiting = new Set<RawId>();
  private readonly timer: NodeJS.Timeout;
  private over = false;
  /** The client went away before it could learn an event id: nothing that follows can ever reach it. */
  private unreachable = false;

  constructor(
    private readonly session: LegacySession,
    private readonly reply: HttpReply,
    requests: readonly RawId[],
    private readonly batch: boolean,
    private readonly timing: ReplyTiming,
    private readonly abandon: () => void,
  ) {
    for (const id of requests) this.waiting.add(id);
    this.timer = setTimeout(() => this.commit(), timing.commitMs);
    this.timer.unref();
    reply.onClose(() => this.clientGone());
  }

  /**
   * Goes over to a stream. Undefined when the client went away before it could learn any event id: it can never come
   * back for what follows.
   */
  commit(): StreamLog | undefined {
    if (this.unreachable) return undefined;
    if (this.stream !== undefined || this.over) return this.stream;
    clearTimeout(this.timer);
    if (this.reply.closed || this.reply.started || this.session.over) return undefined;
    const { session, timing } = this;
    const unanswered = [...this.waiting, ...this.responses.map(({ id }) => id)];
    const stream = session.buffer.open('post', unanswered);
    this.stream = stream;
    stream.abandon = this.abandon;
    stream.attach(this.reply.stream(), 0, session.priming);
    if (session.priming && timing.closeAfterMs > 0) stream.pollAfter(timing.closeAfterMs, timing.retryMs);
    for (const { id, text } of this.responses.splice(0)) {
      stream.append(text, { request: id });
      stream.settle(id, true);
    }
    return stream;
  }

  notify(text: string): void {
    this.commit()?.append(text);
  }

  /** One request has ended; `response` is undefined when it was cancelled and gets none. */
  respond(
    id: RawId,
    response: string | undefined,
    status: number,
    headers?: Parameters<HttpReply['json']>[2],
  ): void {
    this.waiting.delete(id);
    if (this.stream !== undefined && this.unreachable) {
      if (this.waiting.size > 0) return;
      this.finishStream();
      this.session.buffer.forget(this.stream);
      return;
    }
    if (this.stream !== undefined) {
      if (response !== undefined) this.stream.append(response, { request: id });
      this.stream.settle(id, response !== undefined);
      if (this.waiting.size === 0) this.finishStream();
      return;
    }
    if (response !== undefined) this.responses.push({ id, text: response });
    if (this.waiting.size > 0) return;
    this.over = true;
    clearTimeout(this.timer);
    if (this.reply.closed || this.reply.started) return;
    const [first] = this.responses;
    // A cancelled request gets no response, and no batch of responses is empty; an empty stream is how HTTP says so.
    if (first === undefined) this.reply.stream().end();
    else if (this.batch) this.reply.json(200, `[${this.responses.map(({ text }) => text).join(',')}]`);
    else this.reply.json(status, first.text, headers);
  }

  /** The call runs on all the same, and counts as one without a connection. */
  private clientGone(): void {
    if (this.stream !== undefined || this.over) return;
    clearTimeout(this.timer);
    this.unreachable = true;
    const stream = this.session.buffer.open('post');
    stream.abandon = this.abandon;
    this.stream = stream;
    this.session.buffer.detached(stream);
  }

  private finishStream(): void {
    this.over = true;
    this.stream?.finish();
  }
}

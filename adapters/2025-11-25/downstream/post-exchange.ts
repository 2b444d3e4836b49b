import type { LegacySession } from './session.js';
import type { PostReply } from './post-reply.js';
import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import type { Caller, ClientDescription, Era, Exchange } from '../../../src/exchange/exchange.js';
import { onAbort } from '../../../src/exchange/on-abort.js';
import { type Outcome, failure } from '../../../src/exchange/outcome.js';
import type { Answer, Question } from '../../../src/exchange/question.js';
import { Draft } from '../../../src/jsonrpc/draft.js';
import type { Message, RawId } from '../../../src/jsonrpc/message.js';
import { printError } from '../../../src/jsonrpc/print.js';
import { requestedProgressToken } from '../../../src/translation/progress.js';

/**
 * One request of a legacy client, on the stream of the POST that brought it. Losing the connection does not cancel it:
 * only `notifications/cancelled`, the end of the session, or a bound does.
 * @see /specification/2025-11-25/basic/utilities/cancellation
 */
export class PostExchange implements Exchange {
  readonly era: Era = 'legacy';
  readonly method: string;
  readonly id: RawId;
  readonly client: ClientDescription;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly progressToken: RawId | undefined;
  private readonly abort = new AbortController();
  /** Why the gateway gave the request up, when it was not the client who did. */
  private reason: GatewayError | undefined;
  private ended = false;

  constructor(
    readonly message: Message,
    private readonly session: LegacySession,
    private readonly reply: PostReply,
    readonly headers: Readonly<Record<string, string>>,
  ) {
    this.method = message.method ?? '';
    this.id = message.id ?? 'null';
    this.client = session.client;
    this.caller = session.caller;
    this.signal = this.abort.signal;
    this.progressToken = requestedProgressToken(message);
  }

  /**
   * The client cancelled, or the session ended: the upstream is told, and nothing more is sent for this request.
   * @param reason the client's own, for whoever reads it
   */
  cancel(reason?: string): void {
    this.abort.abort(reason);
  }

  /** The gateway gives the request up: the upstream is told, and the client finds an error instead of a response. */
  giveUp(reason: GatewayError): void {
    if (this.signal.aborted) return;
    this.reason = reason;
    this.abort.abort();
  }

  onCancel(listener: () => void): void {
    onAbort(this.signal, listener);
  }

  begin(): void {
    if (!this.ended) this.reply.commit();
  }

  notify(message: Message): boolean {
    if (!this.ended && !this.signal.aborted) this.reply.notify(message.text);
    // A legacy reader that is too slow is cut off and resumes: the upstream need not wait for it.
    return true;
  }

  onReady(listener: () => void): void {
    listener();
  }

  async ask(questions: readonly Question[], signal: AbortSignal): Promise<readonly Answer[]> {
    const stream = this.reply.commit();
    if (stream === undefined) {
      throw new GatewayError(GATEWAY_CODE.questionFailed, 'the client has gone and cannot be asked');
    }
    const withdrawn = AbortSignal.any([signal, this.signal]);
    return Promise.all(questions.map((question) => this.session.questions.ask(question, stream, withdrawn)));
  }

  /** The text of the response, or undefined when the request was cancelled and gets none. */
  finish(outcome: Outcome): string | undefined {
    this.ended = true;
    if (this.reason !== undefined) return responseText(this.id, failure(this.reason));
    if (this.signal.aborted) return undefined;
    return responseText(this.id, outcome);
  }
}

/** The response under the client's own id. */
export function responseText(id: RawId, outcome: Outcome): string {
  if (outcome.kind === 'failed') {
    if (outcome.message === undefined) return printError(id, outcome.code, outcome.text, outcome.data);
    const draft = new Draft(outcome.message.text);
    draft.set(outcome.message.root, 'id', id);
    return draft.print();
  }
  const draft = (outcome.kind === 'complete' ? outcome.draft : undefined) ?? new Draft(outcome.message.text);
  draft.set(outcome.message.root, 'id', id);
  return draft.print();
}

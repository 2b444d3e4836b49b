import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import type { Answer, Question } from '../../../src/exchange/question.js';
import { memberOf, valueText } from '../../../src/jsonrpc/json-scan.js';
import { type Message, idKey, paramString } from '../../../src/jsonrpc/message.js';
import { printError, printResult } from '../../../src/jsonrpc/print.js';
import type { ResponseEnd } from '../../../src/upstreams/response-reader.js';
import { printAnswer } from './question-answer.js';
import type { UpstreamSession } from './session.js';

/** What the owner of a stream decides about the questions on it. */
export interface QuestionsOptions {
  /** How many may be open at one time; what is more is refused. */
  readonly limit: number;
  /** Puts a question to the client. @throws GatewayError it cannot be asked, or did not answer */
  ask(question: Question, signal: AbortSignal): Promise<Answer>;
}

/**
 * The requests an upstream sends on one of its streams, from their arrival to the response: pings, which the gateway
 * answers, and questions to the client, which the upstream may take back.
 * @see /specification/2025-11-25/basic/transports#listening-for-messages-from-the-server
 */
export class UpstreamQuestions {
  /** Those that wait for the client, by the key of their id; made for the first, since most calls ask nothing. */
  private open: Map<string, AbortController> | undefined;

  constructor(
    private readonly session: UpstreamSession,
    private readonly options: QuestionsOptions,
  ) {}

  /**
   * Answers one request. Resolves with how the upstream took the answer to a question; undefined when it got none.
   * @param before what has to be over before the answer is sent, asked for when it is there
   */
  async answer(
    message: Message,
    before?: () => Promise<unknown> | undefined,
  ): Promise<ResponseEnd | undefined> {
    const id = message.id ?? 'null';
    const method = message.method ?? '';
    if (method === 'ping') {
      await this.session.respond(printResult(id, '{}'));
      return undefined;
    }
    const open = (this.open ??= new Map<string, AbortController>());
    if (open.size >= this.options.limit) {
      const text = 'too many questions are open (openQuestions)';
      await this.session.respond(printError(id, GATEWAY_CODE.overloaded, text));
      return undefined;
    }
    const key = idKey(id);
    const abort = new AbortController();
    open.set(key, abort);
    let text: string;
    try {
      const params = message.params === undefined ? undefined : valueText(message.text, message.params);
      const question = { key, method, ...(params !== undefined && { params }) };
      text = printAnswer(id, question, await this.options.ask(question, abort.signal), this.session);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      text = printError(id, error.code, error.message, error.data);
    }
    // A question the upstream took back gets no answer; one whose stream is over does, so that nobody waits for it.
    const withdrawn = !open.delete(key);
    if (withdrawn || this.session.ended) return undefined;
    await before?.();
    return this.session.respond(text);
  }

  /** The upstream takes a question back, by `notifications/cancelled`. */
  withdraw(message: Message): void {
    const requestId = memberOf(message.params?.object, 'requestId');
    if (requestId === undefined) return;
    const key = idKey(valueText(message.text, requestId));
    const question = this.open?.get(key);
    this.open?.delete(key);
    question?.abort(paramString(message, 'reason'));
  }

  /** The stream is over: nobody is asked any more, and the upstream is told so. */
  close(): void {
    for (const question of this.open?.values() ?? []) question.abort();
  }
}

import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import type { Answer, Question } from '../../../src/exchange/question.js';
import { valueText } from '../../../src/jsonrpc/json-scan.js';
import { type Message, idKey } from '../../../src/jsonrpc/message.js';
import { printNotification, printRequest } from '../../../src/jsonrpc/print.js';
import { statedReason } from '../stated-reason.js';
import type { StreamLog } from '../../../src/replay/stream-log.js';

interface OpenQuestion {
  settle(answer: Message): void;
  fail(error: GatewayError): void;
}

/**
 * The questions a session's client has been asked and not answered yet. Ids are the gateway's own; an answer is
 * matched within its session only, and an unknown one is ignored.
 * @see /specification/2025-11-25/basic/transports#sending-messages-to-the-server
 */
export class QuestionDesk {
  private open: Map<string, OpenQuestion> | undefined;
  private last = 0;

  /**
   * @param timeoutMs how long a person may take, in milliseconds
   * @param run the run of the gateway: an answer to a question of an earlier one must not hit one of this
   */
  constructor(
    private readonly timeoutMs: number,
    private readonly run: number,
  ) {}

  /** Questions without an answer. */
  get size(): number {
    return this.open?.size ?? 0;
  }

  /**
   * Puts a question on a stream and waits for its answer.
   * @throws GatewayError withdrawn, timed out, or the session ended
   */
  ask(question: Question, stream: StreamLog, signal: AbortSignal): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      if (signal.aborted) {
        reject(withdrawnError());
        return;
      }
      this.last++;
      const id = this.run === 0 ? String(this.last) : `"${this.run.toString(36)}-${this.last}"`;
      const key = idKey(id);
      const event = stream.append(printRequest(id, question.method, question.params), { pinned: true });
      const close = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', withdraw);
        this.open?.delete(key);
        stream.unpin(event);
      };
      const fail = (error: GatewayError) => {
        close();
        reject(error);
      };
      const tell = (reason: string) => {
        const params = `{"requestId":${id},"reason":${JSON.stringify(reason)}}`;
        stream.append(printNotification('notifications/cancelled', params));
      };
      const withdraw = () => {
        tell(statedReason(signal) ?? 'the server withdrew the request');
        fail(withdrawnError());
      };
      const timer = setTimeout(() => {
        tell('no answer in time');
        fail(
          new GatewayError(
            GATEWAY_CODE.questionFailed,
            `the client did not answer within ${this.timeoutMs} ms`,
          ),
        );
      }, this.timeoutMs);
      timer.unref();
      (this.open ??= new Map<string, OpenQuestion>()).set(key, {
        settle: (answer) => {
          close();
          resolve(answerOf(question.key, answer));
        },
        fail,
      });
      signal.addEventListener('abort', withdraw, { once: true });
    });
  }

  /** Takes a response the client posted. Returns false when nobody waits for it. */
  take(answer: Message): boolean {
    const question = answer.id === undefined ? undefined : this.open?.get(idKey(answer.id));
    question?.settle(answer);
    return question !== undefined;
  }

  /** The session is over: nobody will answer. */
  close(): void {
    const error = new GatewayError(GATEWAY_CODE.sessionEnded, 'the session has ended');
    for (const question of [...(this.open?.values() ?? [])]) question.fail(error);
  }
}

function withdrawnError(): GatewayError {
  return new GatewayError(GATEWAY_CODE.questionFailed, 'the question was withdrawn');
}

function answerOf(key: string, answer: Message): Answer {
  if (answer.kind === 'result' && answer.result !== undefined) {
    return { kind: 'result', key, result: valueText(answer.text, answer.result) };
  }
  const error =
    answer.error === undefined
      ? '{"code":-32603,"message":"no answer"}'
      : valueText(answer.text, answer.error);
  return { kind: 'error', key, error };
}

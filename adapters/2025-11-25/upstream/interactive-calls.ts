import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import type { Answer, Question } from '../../../src/exchange/question.js';

/** How long a question that belongs to no call waits for one, in milliseconds. */
const HOLD_MS = 15_000;

/** A call whose client can be asked. */
export interface InteractiveCall {
  ask(question: Question, signal: AbortSignal): Promise<Answer>;
}

/**
 * The calls in flight on a session whose client can be asked only during a call (X29). A question from outside any call
 * goes to the one call it can belong to: the only one there is. With none, or several, it waits, and is then refused.
 */
export class InteractiveCalls {
  private readonly calls = new Set<InteractiveCall>();
  private readonly waiting = new Set<() => void>();
  private closed = false;

  add(call: InteractiveCall): void {
    this.calls.add(call);
    this.wake();
  }

  delete(call: InteractiveCall): void {
    this.calls.delete(call);
    this.wake();
  }

  /** @throws GatewayError no single call came up in time, or the question was withdrawn */
  async ask(question: Question, signal: AbortSignal): Promise<Answer> {
    const call = await this.single(signal);
    return call.ask(question, signal);
  }

  close(): void {
    this.closed = true;
    this.wake();
  }

  private wake(): void {
    for (const check of [...this.waiting]) check();
  }

  private single(signal: AbortSignal): Promise<InteractiveCall> {
    return new Promise((resolve, reject) => {
      const done = () => {
        clearTimeout(timer);
        this.waiting.delete(check);
        signal.removeEventListener('abort', check);
      };
      const refuse = (why: string) => {
        done();
        reject(new GatewayError(GATEWAY_CODE.questionFailed, why));
      };
      const check = () => {
        const [call] = this.calls;
        if (this.closed || signal.aborted) refuse('the question was withdrawn');
        else if (call !== undefined && this.calls.size === 1) {
          done();
          resolve(call);
        }
      };
      const timer = setTimeout(() => refuse('the client can be asked during a single call only'), HOLD_MS);
      timer.unref();
      this.waiting.add(check);
      signal.addEventListener('abort', check, { once: true });
      check();
    });
  }
}

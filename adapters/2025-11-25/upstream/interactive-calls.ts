import { now } from '../../../src/clock/clock.js';
import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import type { Answer, Question } from '../../../src/exchange/question.js';

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
  private rootsRefused = false;

  /**
   * @param holdMs how long a question waits for a call, in milliseconds
   * @param rootsChanged tells the upstream that it should ask for the roots again
   */
  constructor(
    private readonly holdMs: number,
    private readonly rootsChanged: () => void,
  ) {}

  add(call: InteractiveCall): void {
    this.calls.add(call);
    // X19: the roots the server wanted when nobody could be asked can be had now, if it asks again.
    if (this.rootsRefused) {
      this.rootsRefused = false;
      this.rootsChanged();
    }
    this.wake();
  }

  delete(call: InteractiveCall): void {
    this.calls.delete(call);
    this.wake();
  }

  /** @throws GatewayError no single call came up in time, or the question was withdrawn */
  async ask(question: Question, signal: AbortSignal): Promise<Answer> {
    const until = now() + this.holdMs;
    for (;;) {
      try {
        const call = await this.single(signal, until);
        const answer = await call.ask(question, signal).catch((error: unknown) => {
          // The call ended before its client answered: another may come up in time.
          if (signal.aborted || this.calls.has(call) || now() >= until) throw error;
        });
        if (answer !== undefined) return answer;
      } catch (error) {
        if (question.method === 'roots/list' && !signal.aborted) this.rootsRefused = true;
        throw error;
      }
    }
  }

  close(): void {
    this.closed = true;
    this.wake();
  }

  private wake(): void {
    for (const check of [...this.waiting]) check();
  }

  private single(signal: AbortSignal, until: number): Promise<InteractiveCall> {
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
      const timer = setTimeout(
        () => refuse('the client can be asked during a single call only'),
        Math.max(0, until - now()),
      );
      timer.unref();
      this.waiting.add(check);
      signal.addEventListener('abort', check, { once: true });
      check();
    });
  }
}

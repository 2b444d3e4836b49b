import { now } from '../../../src/clock/clock.js';
import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import type { Answer, Question } from '../../../src/exchange/question.js';

/** A call whose client can be asked. */
export interface InteractiveCall {
  ask(question: Question, signal: AbortSignal): Promise<Answer>;
}

/** How long a server that was told of new roots has to ask for them before the call that waits runs, in milliseconds. */
const ASK_AGAIN_MS = 500;
/** How long a call waits for roots that another one's client is asked for, in milliseconds. */
const OTHERS_ROOTS_MS = 1000;

/**
 * The calls in flight on a session whose client can be asked only during a call (X29). A question from outside any call
 * goes to the one call it can belong to: the only one there is. With none, or several, it waits, and is then refused.
 * Roots belong to the client rather than to a call: any call will do for them.
 */
export class InteractiveCalls {
  private readonly calls = new Set<InteractiveCall>();
  private readonly waiting = new Set<() => void>();
  private closed = false;
  private rootsRefused = false;
  private rootsAsked = 0;
  /** The server's questions for roots that it has no answer to yet; each resolves when it has. */
  private readonly rootsOpen = new Set<Promise<void>>();

  /**
   * @param holdMs how long a question waits for a call, in milliseconds
   * @param rootsChanged tells the upstream that it should ask for the roots again; resolves when it has heard
   */
  constructor(
    private readonly holdMs: number,
    private readonly rootsChanged: () => Promise<unknown>,
  ) {}

  /**
   * A call begins. It must not be sent before the promise resolves, if there is one: its server waits for roots, and
   * would do without them what the client means to be done with them (X19).
   */
  add(call: InteractiveCall): Promise<unknown> | undefined {
    this.calls.add(call);
    let ready: Promise<unknown> | undefined;
    if (this.rootsRefused) {
      // The roots the server wanted when nobody could be asked can be had now, if it asks again.
      this.rootsRefused = false;
      ready = this.askedAgain();
    } else if (this.rootsOpen.size > 0) {
      ready = this.rootsAnswered();
      if (this.calls.size > 1) ready = Promise.race([ready, this.waking(OTHERS_ROOTS_MS, () => false)]);
    }
    this.wake();
    return ready;
  }

  /** The server asks for roots outside any call. @param answered resolves when it has an answer */
  rootsWanted(answered: Promise<void>): void {
    this.rootsAsked++;
    this.rootsOpen.add(answered);
    void answered.finally(() => this.rootsOpen.delete(answered));
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
        const call = await this.callFor(question, signal, until);
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

  private async askedAgain(): Promise<void> {
    const asked = this.rootsAsked;
    await this.rootsChanged();
    await this.waking(ASK_AGAIN_MS, () => this.rootsAsked > asked);
    await this.rootsAnswered();
  }

  private async rootsAnswered(): Promise<void> {
    await Promise.allSettled(this.rootsOpen);
  }

  private async callFor(question: Question, signal: AbortSignal, until: number): Promise<InteractiveCall> {
    const anyCall = question.method === 'roots/list';
    const found = () => this.calls.size === 1 || (anyCall && this.calls.size > 0);
    await this.waking(until - now(), found, signal);
    if (this.closed || signal.aborted) {
      throw new GatewayError(GATEWAY_CODE.questionFailed, 'the question was withdrawn');
    }
    const [call] = this.calls;
    if (call === undefined || !found()) {
      const why = 'the client can be asked during a single call only';
      throw new GatewayError(GATEWAY_CODE.questionFailed, why);
    }
    return call;
  }

  /** Resolves when something holds, when the time is over, or when there is nothing left to wait for. */
  private waking(ms: number, holds: () => boolean, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.waiting.delete(check);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const check = () => {
        if (this.closed || signal?.aborted === true || holds()) done();
      };
      const timer = setTimeout(done, Math.max(0, ms));
      timer.unref();
      this.waiting.add(check);
      signal?.addEventListener('abort', done, { once: true });
      check();
    });
  }
}

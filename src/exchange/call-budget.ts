import { now } from '../clock/clock.js';

/**
 * How long one upstream call may take: a budget that every sign of life renews, up to an absolute bound.
 * While a question waits for a person only the absolute bound counts.
 * @see /specification/2026-07-28/basic/patterns/cancellation#timeouts
 */
export class CallBudget {
  private timer: NodeJS.Timeout | undefined;
  private readonly end: number;
  private held = 0;
  private timerMs = 0;

  /** @param budgetMs renewed by `renew`; @param maxMs absolute; both in milliseconds */
  constructor(
    private readonly budgetMs: number,
    maxMs: number,
    private readonly onExpiry: () => void,
  ) {
    this.end = now() + maxMs;
    this.renew();
  }

  /** A sign of life: the budget starts anew. */
  renew(): void {
    const left = this.end - now();
    const ms = Math.max(0, this.held > 0 ? left : Math.min(this.budgetMs, left));
    if (this.timer !== undefined && ms === this.timerMs) {
      this.timer.refresh();
      return;
    }
    clearTimeout(this.timer);
    this.timerMs = ms;
    this.timer = setTimeout(this.onExpiry, ms);
    this.timer.unref();
  }

  /** A question is open: waits as long as the absolute bound allows, until `release`. */
  hold(): void {
    this.held++;
    this.reset();
  }

  /** A question is answered or withdrawn. */
  release(): void {
    this.held--;
    this.reset();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private reset(): void {
    if (this.timer === undefined) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.renew();
  }
}

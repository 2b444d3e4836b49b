/** A peer that asks for a longer wait than this, in milliseconds, gets this: timers of node end at 24 days, and then spin. */
const LONGEST_MS = 3_600_000;

/**
 * Waiting times that double up to a bound, with jitter so that many clients of one upstream do not come back at once.
 * Only progress resets it: a connection that opens and closes without bringing anything is no licence to spin.
 */
export class Backoff {
  private attempts = 0;

  /** @param baseMs first wait; @param maxMs bound; both in milliseconds */
  constructor(
    private readonly baseMs: number,
    private readonly maxMs: number,
  ) {}

  /** The next wait in milliseconds; never below `atLeastMs`, which a peer's `retry` may demand. */
  next(atLeastMs = 0): number {
    const full = Math.min(this.maxMs, this.baseMs * 2 ** this.attempts);
    this.attempts = Math.min(this.attempts + 1, 30);
    return Math.min(LONGEST_MS, Math.max(atLeastMs, full / 2 + (Math.random() * full) / 2));
  }

  reset(): void {
    this.attempts = 0;
  }
}

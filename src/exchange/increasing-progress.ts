import type { Message } from '../jsonrpc/message.js';
import { progressValue } from '../translation/progress.js';

/**
 * Lets progress pass only while it grows, as both eras demand of one request; what one era's server repeats or counts
 * anew in another round, the other era's client must not see.
 * @see /specification/2026-07-28/basic/patterns/progress
 */
export class IncreasingProgress {
  private last = Number.NEGATIVE_INFINITY;

  passes(message: Message): boolean {
    if (message.method !== 'notifications/progress') return true;
    const value = progressValue(message);
    if (value === undefined || !(value > this.last)) return false;
    this.last = value;
    return true;
  }
}

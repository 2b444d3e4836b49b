import type { Message } from '../jsonrpc/message.js';
import { progressValue } from '../translation/progress.js';
import { deriveExchange } from './derive.js';
import type { Exchange } from './exchange.js';

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

/** An exchange whose request may be sent more than once: a second attempt that counts anew must not be seen to. */
export function withIncreasingProgress(exchange: Exchange): Exchange {
  if (exchange.progressToken === undefined) return exchange;
  const progress = new IncreasingProgress();
  return deriveExchange(exchange, {
    notify: (message) => !progress.passes(message) || exchange.notify(message),
  });
}

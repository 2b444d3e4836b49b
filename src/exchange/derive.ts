import type { Exchange } from './exchange.js';

/** An exchange that differs from another in some members, and is the same in all others. */
export function deriveExchange(
  exchange: Exchange,
  changes: Partial<Omit<Exchange, 'progressToken'>>,
): Exchange {
  const { era, message, method, id, client, caller, headers, signal } = exchange;
  const derived: Omit<Exchange, 'progressToken'> = {
    era,
    message,
    method,
    id,
    client,
    caller,
    headers,
    signal,
    begin: () => exchange.begin(),
    notify: (notification) => exchange.notify(notification),
    onReady: (listener) => exchange.onReady(listener),
    ask: (questions, withdrawn) => exchange.ask(questions, withdrawn),
    ...changes,
  };
  // The token is looked up, not copied: a call that outlives its first response goes on under the next request's token.
  return Object.defineProperty(derived, 'progressToken', {
    get: () => exchange.progressToken,
    enumerable: true,
  }) as Exchange;
}

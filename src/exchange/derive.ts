import type { Exchange } from './exchange.js';

/** An exchange that differs from another in some members, and is the same in all others. */
export function deriveExchange(
  exchange: Exchange,
  changes: Partial<Omit<Exchange, 'progressToken'>>,
): Exchange {
  const { era, message, method, id, client, caller, headers, signal, progressToken } = exchange;
  return {
    era,
    message,
    method,
    id,
    client,
    caller,
    headers,
    signal,
    ...(progressToken !== undefined && { progressToken }),
    begin: () => exchange.begin(),
    notify: (notification) => exchange.notify(notification),
    onReady: (listener) => exchange.onReady(listener),
    ask: (questions, withdrawn) => exchange.ask(questions, withdrawn),
    ...changes,
  };
}

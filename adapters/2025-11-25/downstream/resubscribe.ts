import type { LegacySession } from './session.js';
import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import type { Exchange, Relay } from '../../../src/exchange/exchange.js';
import { onAbort } from '../../../src/exchange/on-abort.js';
import type { Outcome } from '../../../src/exchange/outcome.js';
import type { HttpRequest } from '../../../src/http/port.js';
import { parseMessage } from '../../../src/jsonrpc/message.js';
import { printRequest } from '../../../src/jsonrpc/print.js';

/**
 * Subscribes again to what the client of a session from the store subscribed to: what carried its subscriptions died
 * with the process before, and nothing would tell the client. An upstream that still has them takes it as it is.
 */
export function resubscribe(
  session: LegacySession,
  uri: string,
  request: HttpRequest,
  relay: Relay,
): Promise<Outcome> {
  const text = printRequest('0', 'resources/subscribe', JSON.stringify({ uri }));
  const abort = new AbortController();
  session.onEnd(() => abort.abort());
  const exchange: Exchange = {
    ...session.introduction(request),
    message: parseMessage(text, { maxDepth: 8 }),
    method: 'resources/subscribe',
    id: '0',
    signal: abort.signal,
    onCancel: (listener) => onAbort(abort.signal, listener),
    progressToken: undefined,
    begin: () => undefined,
    notify: () => true,
    onReady: (listener) => listener(),
    ask: () => Promise.reject(new GatewayError(GATEWAY_CODE.questionFailed, 'nobody waits for this request')),
  };
  return relay.run(exchange);
}

import { onAbort } from '../../../src/exchange/on-abort.js';
import type { UpstreamContext } from '../../adapter.js';
import type { Exchange, Introduction } from '../../../src/exchange/exchange.js';
import { type Outcome, failure } from '../../../src/exchange/outcome.js';
import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import { parseMessage } from '../../../src/jsonrpc/message.js';
import { IMPLEMENTATION } from '../../../src/telemetry/implementation.js';
import { LATEST_MODERN } from '../revisions.js';
import { ModernCall } from './call.js';

const REQUEST = parseMessage('{"jsonrpc":"2.0","id":"discover","method":"server/discover"}', { maxDepth: 8 });

/**
 * Asks a server for its description, in the gateway's own name but with the caller's credential.
 * @param timeoutMs bound in milliseconds; on expiry the outcome is a failure
 * @see /specification/2026-07-28/server/discover
 */
export async function discover(
  context: UpstreamContext,
  introduction: Introduction,
  timeoutMs: number,
): Promise<Exclude<Outcome, { kind: 'inputRequired' }>> {
  const abort = new AbortController();
  let expired = false;
  const timer = setTimeout(() => {
    expired = true;
    abort.abort();
  }, timeoutMs);
  const exchange: Exchange = {
    era: 'modern',
    message: REQUEST,
    method: 'server/discover',
    id: '"discover"',
    client: { revision: LATEST_MODERN, clientInfo: JSON.stringify(IMPLEMENTATION), capabilities: '{}' },
    caller: introduction.caller,
    headers: introduction.headers,
    signal: abort.signal,
    onCancel: (listener) => onAbort(abort.signal, listener),
    progressToken: undefined,
    begin: () => undefined,
    notify: () => true,
    onReady: () => undefined,
    ask: () => Promise.reject(new GatewayError(GATEWAY_CODE.questionFailed, 'nobody can be asked')),
  };
  try {
    const { outcome } = await new ModernCall(context, exchange, LATEST_MODERN).run();
    if (expired) {
      return failure(
        new GatewayError(
          GATEWAY_CODE.upstreamTimeout,
          `the upstream ${context.name} did not answer server/discover within ${timeoutMs} ms`,
          { status: 504 },
        ),
      );
    }
    if (outcome.kind === 'inputRequired') return { kind: 'complete', message: outcome.message };
    return outcome;
  } finally {
    clearTimeout(timer);
  }
}

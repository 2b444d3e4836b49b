import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import { type ChangeFilter, changeOf, printFilter, readFilter } from '../../../src/exchange/change-filter.js';
import { Ending } from '../../../src/exchange/ending.js';
import type { Exchange, Introduction, Watch } from '../../../src/exchange/exchange.js';
import { onAbort } from '../../../src/exchange/on-abort.js';
import { type Message, parseMessage } from '../../../src/jsonrpc/message.js';
import { printRequest } from '../../../src/jsonrpc/print.js';
import type { UpstreamContext } from '../../adapter.js';
import { LATEST_MODERN } from '../revisions.js';
import { ModernCall } from './call.js';

/**
 * Opens a `subscriptions/listen` stream and waits for its acknowledgment.
 * @throws GatewayError refused, or not acknowledged in time
 * @see /specification/2026-07-28/basic/patterns/subscriptions
 */
export async function openWatch(
  context: UpstreamContext,
  from: Introduction,
  filter: ChangeFilter,
  onChange: (change: Message) => void,
): Promise<Watch> {
  const abort = new AbortController();
  let acknowledge: (honoured: ChangeFilter) => void = () => undefined;
  const acknowledged = new Promise<ChangeFilter>((resolve) => (acknowledge = resolve));
  const message = parseMessage(
    printRequest('0', 'subscriptions/listen', `{"notifications":${printFilter(filter)}}`),
    { maxDepth: 8 },
  );
  const exchange: Exchange = {
    era: from.era,
    message,
    method: 'subscriptions/listen',
    id: '0',
    client: from.client,
    caller: from.caller,
    headers: from.headers,
    signal: abort.signal,
    onCancel: (listener) => onAbort(abort.signal, listener),
    progressToken: undefined,
    begin: () => undefined,
    notify: (notification) => {
      if (notification.method === 'notifications/subscriptions/acknowledged')
        acknowledge(readFilter(notification));
      else if (changeOf(notification) !== undefined) onChange(notification);
      return true;
    },
    onReady: (listener) => listener(),
    ask: () => Promise.reject(new GatewayError(GATEWAY_CODE.questionFailed, 'nobody can be asked')),
  };
  const running = new ModernCall(context, exchange, LATEST_MODERN).run();
  const lost = new Ending();
  void running.then(() => lost.end());
  const { initializeMs } = context.config.timeouts;
  let timer: NodeJS.Timeout | undefined;
  const expiry = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), initializeMs);
    timer.unref();
  });
  const first = await Promise.race([acknowledged, running, expiry]);
  clearTimeout(timer);
  if (first !== undefined && 'lists' in first) {
    return {
      honoured: first,
      onLost: (listener) => lost.onEnd(listener),
      close: () => {
        lost.forget();
        abort.abort();
      },
    };
  }
  abort.abort();
  if (first?.outcome.kind === 'failed') {
    const { code, text, status, data } = first.outcome;
    throw new GatewayError(code, text, { status: status ?? 200, ...(data !== undefined && { data }) });
  }
  throw new GatewayError(
    GATEWAY_CODE.upstreamTimeout,
    `the upstream ${context.name} did not acknowledge a subscription within ${initializeMs} ms`,
    { status: 504 },
  );
}

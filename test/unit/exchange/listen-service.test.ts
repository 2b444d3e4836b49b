import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import type { ChangeFilter } from '../../../src/exchange/change-filter.js';
import type { Exchange, Introduction, UpstreamHalf, Watch } from '../../../src/exchange/exchange.js';
import { serveListen } from '../../../src/exchange/listen-service.js';
import { parseMessage } from '../../../src/jsonrpc/message.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const LISTEN =
  '{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}';

const filter = (...lists: 'tools'[]): ChangeFilter => ({ lists: new Set(lists), uris: new Set() });

/** An upstream whose watches are these, one after the other, each over at once; then it cannot be reached. */
function listening(watches: ChangeFilter[]) {
  const notified: (string | undefined)[] = [];
  const exchange = {
    id: '7',
    message: parseMessage(LISTEN, { maxDepth: 16 }),
    signal: new AbortController().signal,
    onCancel: () => undefined,
    notify: (message: { method?: string }) => notified.push(message.method),
  } as unknown as Exchange;
  const upstream = {
    watch: (): Promise<Watch> => {
      const honoured = watches.shift();
      if (honoured !== undefined)
        return Promise.resolve({ honoured, onLost: (listener) => listener(), close: () => undefined });
      return Promise.reject(new GatewayError(GATEWAY_CODE.upstreamUnreachable, 'gone', { status: 502 }));
    },
  } as unknown as UpstreamHalf;
  return { notified, outcome: serveListen(exchange, {} as Introduction, upstream) };
}

test('X24 a subscription that cannot be opened again ends with the error, not as if there were nothing to hear', async () => {
  const { notified, outcome } = listening([filter('tools'), filter('tools')]);
  await vi.runAllTimersAsync();
  expect(await outcome).toMatchObject({ kind: 'failed', code: GATEWAY_CODE.upstreamUnreachable });
  // What may have been missed before it came back once.
  expect(notified).toEqual(['notifications/subscriptions/acknowledged', 'notifications/tools/list_changed']);
});

test('X24 one whose promise can no longer be kept ends gracefully: the client asks anew', async () => {
  const { outcome } = listening([filter('tools'), filter()]);
  await vi.runAllTimersAsync();
  expect(await outcome).toMatchObject({ kind: 'complete' });
});

test('X24 one that could never be opened is refused', async () => {
  const { notified, outcome } = listening([]);
  expect(await outcome).toMatchObject({ kind: 'failed', code: GATEWAY_CODE.upstreamUnreachable });
  expect(notified).toEqual([]);
});

import { describe, expect, test } from 'vitest';
import { parseConfig } from '../../src/config/config.js';
import { ERAS, startScript } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import type { RawResponse } from '../peers/raw-client.js';
import { type Era, modernText, openWireClient, openWireSession, postModern } from '../peers/wire-client.js';

/** The real times, when there is time for them: MCP_GANGWAY_SLOW_TESTS=1 takes five and a half minutes. */
const SLOW = process.env['MCP_GANGWAY_SLOW_TESTS'] === '1';

/** The configured times divided by 100, and waiting times with them. */
const FAST = { keepAliveMs: 150, streamCommitMs: 50 };

/** Timers on a busy machine are late; this much is no finding. In milliseconds. */
const LATE_MS = 150;

async function started(upstreamEra: Era, timeouts: Record<string, number> = {}) {
  const upstream = closing(await startScript(upstreamEra, () => undefined, { tools: [] }));
  return closing(await startGateway(upstream.url, { timeouts }));
}

/** The longest silence in a stream so far, in milliseconds. */
function longestSilence(response: RawResponse, since: number): number {
  const times = [since, ...response.blocks.map(({ at }) => at), performance.now()];
  return Math.max(...times.slice(1).map((at, i) => at - (times[i] ?? at)));
}

async function comments(response: RawResponse, count: number): Promise<void> {
  for (let seen = 0; seen < count; seen++) await response.next(({ comment }) => comment !== undefined);
}

test('C10 the default times are those the intermediaries seen in the field leave', () => {
  const { timeouts } = parseConfig({ upstreams: { a: { url: 'http://127.0.0.1:1/' } } });
  expect(timeouts.keepAliveMs).toBeLessThanOrEqual(15_000);
  expect(timeouts.streamCommitMs).toBeLessThanOrEqual(5000);
});

describe.each(ERAS)('C10 %s upstream with nothing to say', (era) => {
  test('C10 GET: headers and a comment within 250 ms, at default times', { retry: 2 }, async () => {
    const gateway = await started(era);
    const session = await openWireSession(gateway.url);
    const begin = performance.now();
    const stream = closing(await session.get());
    const first = await stream.next(({ comment }) => comment !== undefined);
    expect(first.at - begin).toBeLessThan(250);
    expect(stream.status).toBe(200);
    expect(stream.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': expect.stringContaining('no-transform'),
      'x-accel-buffering': 'no',
    });
    expect(stream.headers).not.toHaveProperty('content-encoding');
  });

  test('C10 GET: comments all along, and the stream stays open', async () => {
    const gateway = await started(era, FAST);
    const session = await openWireSession(gateway.url);
    const begin = performance.now();
    const stream = closing(await session.get());
    await comments(stream, 6);
    expect(longestSilence(stream, begin)).toBeLessThan(FAST.keepAliveMs + LATE_MS);
    expect(stream.isOver).toBe(false);
  });

  test.each(ERAS)('C10 a silent tools/call of a %s client: committed, then comments', async (clientEra) => {
    const gateway = await started(era, FAST);
    const client = await openWireClient(clientEra, gateway.url);
    const begin = performance.now();
    const call = closing(await client.request(1, 'tools/call', { name: 't' }));
    expect(call.headMs).toBeLessThan(FAST.streamCommitMs + LATE_MS);
    expect(call.status).toBe(200);
    expect(call.isStream).toBe(true);
    await comments(call, 5);
    expect(longestSilence(call, begin)).toBeLessThan(FAST.keepAliveMs + LATE_MS);
    expect(call.isOver).toBe(false);
    expect(call.messages).toEqual([]);
  });
});

test('C10 a listen with a legacy upstream: committed with its acknowledgement, then comments', async () => {
  const gateway = await started('legacy', FAST);
  const begin = performance.now();
  const body = modernText('l', 'subscriptions/listen', { notifications: {} });
  const listen = closing(await postModern(gateway.url, body));
  expect(listen.headMs).toBeLessThan(1000);
  expect(listen.isStream).toBe(true);
  expect((await listen.nextMessage()).method).toBe('notifications/subscriptions/acknowledged');
  await comments(listen, 4);
  expect(longestSilence(listen, begin)).toBeLessThan(FAST.keepAliveMs + LATE_MS + 100);
  expect(listen.isOver).toBe(false);
});

test('C10 a listen whose modern upstream is silent: committed by the clock, then comments', async () => {
  const gateway = await started('modern', FAST);
  const body = modernText('l', 'subscriptions/listen', { notifications: { toolsListChanged: true } });
  const begin = performance.now();
  const listen = closing(await postModern(gateway.url, body));
  expect(listen.headMs).toBeLessThan(FAST.streamCommitMs + LATE_MS);
  expect(listen.isStream).toBe(true);
  await comments(listen, 4);
  expect(longestSilence(listen, begin)).toBeLessThan(FAST.keepAliveMs + LATE_MS);
});

describe.runIf(SLOW)('C10 at the real times', () => {
  const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  test(
    'C10 GET is open after 310 s, a call after 130 s, never 15 s of silence',
    { timeout: 400_000 },
    async () => {
      const gateway = await started('legacy');
      const session = await openWireSession(gateway.url);
      const begin = performance.now();
      const stream = closing(await session.get());
      const modern = await openWireClient('modern', gateway.url);
      const calls = await Promise.all([
        session.request(1, 'tools/call', { name: 't' }),
        modern.request(1, 'tools/call', { name: 't' }),
      ]);
      for (const call of calls) expect(closing(call).headMs).toBeLessThan(5500);
      await wait(135_000);
      for (const call of calls) {
        expect(call.isOver).toBe(false);
        expect(longestSilence(call, begin)).toBeLessThan(15_500);
      }
      await wait(180_000);
      expect(stream.isOver).toBe(false);
      expect(longestSilence(stream, begin)).toBeLessThan(15_500);
    },
  );
});

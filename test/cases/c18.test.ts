import { describe, expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { startLegacyServer } from '../peers/legacy-server.js';
import { startModernServer } from '../peers/modern-server.js';
import type { PeerServer } from '../peers/peer-server.js';
import type { RawResponse } from '../peers/raw-client.js';
import { callModern, modernText, openWireSession, postModern } from '../peers/wire-client.js';

const URI = 'test://watched-resource';

/** Announces 200 changes within about 100 ms; resolves with the time of the last. */
async function storm(upstream: PeerServer, change: Parameters<PeerServer['announce']>[0]): Promise<number> {
  let last = 0;
  for (let burst = 0; burst < 10; burst++) {
    for (let i = 0; i < 20; i++) {
      last = performance.now();
      await upstream.announce(change);
    }
    await new Promise((resolve) => setTimeout(resolve, 8));
  }
  return last;
}

/** When each of a kind arrived, until something else was announced and arrived behind it. */
async function arrivedBefore(stream: RawResponse, upstream: PeerServer, method: string): Promise<number[]> {
  await stream.next(({ data }) => data?.includes(method) === true);
  await stream.next(({ data }) => data?.includes(method) === true);
  await upstream.announce('prompts');
  await stream.next(({ data }) => data?.includes('prompts/list_changed') === true);
  return stream.blocks.filter(({ data }) => data?.includes(method)).map(({ at }) => at);
}

/** A stream of changes, and a list call of the client that reads it. */
interface Watcher {
  readonly stream: RawResponse;
  list(): Promise<{ status: number }>;
}

async function listening(upstream: PeerServer): Promise<Watcher> {
  const { url } = closing(await startGateway(upstream.url));
  const notifications = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: [URI] };
  const stream = closing(await postModern(url, modernText('s', 'subscriptions/listen', { notifications })));
  await stream.nextMessage();
  return { stream, list: () => callModern(url, 'tools/list') };
}

async function attached(upstream: PeerServer): Promise<Watcher> {
  const gateway = closing(await startGateway(upstream.url));
  const session = await openWireSession(gateway.url);
  const stream = closing(await session.get());
  expect((await session.call('resources/subscribe', { uri: URI })).status).toBe(200);
  return { stream, list: () => session.call('tools/list') };
}

const CELLS: [string, () => Promise<PeerServer>, (upstream: PeerServer) => Promise<Watcher>][] = [
  ['modern client, legacy upstream', startLegacyServer, listening],
  ['legacy client, modern upstream', startModernServer, attached],
];

/** On a busy machine 100 ms can become more than the bursts the gateway coalesces. */
const RETRIED = { retry: 2 };

describe.each(CELLS)('C18 a storm of 200 changes in 100 ms, %s', (_, start, open) => {
  test.each<[string, string, Parameters<PeerServer['announce']>[0]]>([
    ['a list', 'notifications/tools/list_changed', 'tools'],
    ['a resource', 'notifications/resources/updated', { uri: URI }],
  ])('C18 at most 2 of %s, and the last is not lost', RETRIED, async (_kind, method, change) => {
    const upstream = closing(await start());
    const { stream } = await open(upstream);
    const last = await storm(upstream, change);
    const times = await arrivedBefore(stream, upstream, method);
    expect(times).toHaveLength(2);
    expect(times[1]).toBeGreaterThan(last);
  });

  test('C18 a single change is not held back', RETRIED, async () => {
    const upstream = closing(await start());
    const { stream } = await open(upstream);
    const begin = performance.now();
    await upstream.announce('tools');
    const { at } = await stream.next(({ data }) => data?.includes('tools/list_changed') === true);
    expect(at - begin).toBeLessThan(150);
  });

  test('C18 a list call brings no change', async () => {
    const upstream = closing(await start());
    const { stream, list } = await open(upstream);
    const before = stream.messages.length;
    expect((await list()).status).toBe(200);
    await upstream.announce('prompts');
    await stream.next(({ data }) => data?.includes('prompts/list_changed') === true);
    expect(stream.messages).toHaveLength(before + 1);
  });
});

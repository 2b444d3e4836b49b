import { describe, expect, test } from 'vitest';
import { ERAS, startPeer } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { startLegacyServer } from '../peers/legacy-server.js';
import type { RawResponse } from '../peers/raw-client.js';
import { KEY, modernText, postModern } from '../peers/wire-client.js';

const URI = 'test://watched-resource';

const listen = (
  url: string,
  id: string | number,
  notifications: Record<string, unknown>,
): Promise<RawResponse> => postModern(url, modernText(id, 'subscriptions/listen', { notifications }));

const subscriptionId = (message: any): unknown => message.params._meta[KEY.subscriptionId];

describe('C17 two listeners with the ids 1 and "1", legacy upstream', () => {
  async function started() {
    const upstream = closing(await startLegacyServer());
    const gateway = closing(await startGateway(upstream.url));
    const wanted = { toolsListChanged: true, resourceSubscriptions: [URI] };
    const streams = await Promise.all([listen(gateway.url, 1, wanted), listen(gateway.url, '1', wanted)]);
    return { upstream, gateway, streams: streams.map(closing) };
  }

  test('C17 each acknowledgement and notification carries its own id with its own type', async () => {
    const { upstream, streams } = await started();
    const ids = [1, '1'];
    for (const [i, stream] of streams.entries()) {
      const ack = await stream.nextMessage();
      expect(ack.method).toBe('notifications/subscriptions/acknowledged');
      expect(subscriptionId(ack)).toBe(ids[i]);
      expect(ack.params.notifications).toEqual({ toolsListChanged: true, resourceSubscriptions: [URI] });
    }
    await upstream.announce({ uri: URI });
    await upstream.announce('tools');
    for (const [i, stream] of streams.entries()) {
      const updated = await stream.nextMessage();
      expect(updated).toMatchObject({ method: 'notifications/resources/updated', params: { uri: URI } });
      expect(subscriptionId(updated)).toBe(ids[i]);
      const changed = await stream.nextMessage();
      expect(changed.method).toBe('notifications/tools/list_changed');
      expect(subscriptionId(changed)).toBe(ids[i]);
    }
  });

  test('C17 the upstream sees one resources/subscribe per uri; closing one listener leaves the other served', async () => {
    const { upstream, streams } = await started();
    for (const stream of streams) await stream.nextMessage();
    expect(upstream.requestsFor('resources/subscribe').map(({ message }) => message.params.uri)).toEqual([
      URI,
    ]);
    const [first, second] = streams;
    first?.close();
    await first?.ended;
    await upstream.announce({ uri: URI });
    const updated = await second?.nextMessage();
    expect([updated.method, subscriptionId(updated)]).toEqual(['notifications/resources/updated', '1']);
    expect(upstream.requestsFor('resources/unsubscribe')).toEqual([]);
    second?.close();
    await expect.poll(() => upstream.requestsFor('resources/unsubscribe').length).toBe(1);
    expect(upstream.requestsFor('resources/unsubscribe')[0]?.message.params.uri).toBe(URI);
    expect(upstream.requestsFor('resources/subscribe')).toHaveLength(1);
  });

  test('C17 each gets what it asked for and nothing else', async () => {
    const { upstream, gateway } = await started();
    const other = closing(await listen(gateway.url, 'other', { promptsListChanged: true }));
    expect((await other.nextMessage()).params.notifications).toEqual({ promptsListChanged: true });
    await upstream.announce('tools');
    await upstream.announce({ uri: URI });
    await upstream.announce('prompts');
    const seen = await other.nextMessage();
    expect([seen.method, subscriptionId(seen)]).toEqual(['notifications/prompts/list_changed', 'other']);
    expect(other.messages).toHaveLength(2);
  });

  test('C17 of two principals each has its own session and its own subscription', async () => {
    const upstream = closing(await startLegacyServer());
    const gateway = closing(await startGateway(upstream.url));
    const body = modernText(1, 'subscriptions/listen', { notifications: { resourceSubscriptions: [URI] } });
    for (const token of ['a', 'b']) {
      const stream = closing(await postModern(gateway.url, body, { authorization: `Bearer ${token}` }));
      expect((await stream.nextMessage()).params.notifications).toEqual({ resourceSubscriptions: [URI] });
    }
    const subscribes = upstream.requestsFor('resources/subscribe');
    expect(subscribes.map(({ headers }) => headers.authorization)).toEqual(['Bearer a', 'Bearer b']);
    expect(new Set(subscribes.map(({ headers }) => headers['mcp-session-id'])).size).toBe(2);
  });
});

describe.each(ERAS)('C17 around it, %s upstream', (era) => {
  test.each([0, '0', 'a b', 1.5, 'ü'])('C17 the id %j is carried as it is', async (id) => {
    const upstream = closing(await startPeer(era));
    const gateway = closing(await startGateway(upstream.url));
    const stream = closing(await listen(gateway.url, id, { toolsListChanged: true }));
    expect(subscriptionId(await stream.nextMessage())).toBe(id);
    await upstream.announce('tools');
    expect(subscriptionId(await stream.nextMessage())).toBe(id);
  });

  test('C17 the end of the gateway ends a subscription with its result', async () => {
    const upstream = closing(await startPeer(era));
    const gateway = await startGateway(upstream.url);
    const stream = closing(await listen(gateway.url, '1', { toolsListChanged: true }));
    await stream.nextMessage();
    await gateway.close();
    expect(await stream.rpc()).toMatchObject({
      id: '1',
      result: { resultType: 'complete', _meta: { [KEY.subscriptionId]: '1' } },
    });
    expect(await stream.ended).toBe('finished');
  });
});

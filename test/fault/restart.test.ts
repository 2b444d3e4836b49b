import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ERAS } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { at, callParams, startUpstream, summary } from '../peers/driven-upstream.js';
import { startKillableGateway } from '../peers/killable-gateway.js';
import { startModernServer } from '../peers/modern-server.js';
import { startRedis } from '../peers/redis-server.js';
import { answer } from '../peers/scripted-server.js';
import { openWireSession } from '../peers/wire-client.js';
import { temporaryFolder } from '../peers/temporary-folder.js';

const STORES = {
  sqlite: () => ({ kind: 'sqlite', path: join(temporaryFolder(), 'store.db') }),
  redis: async () => {
    const redis = await startRedis();
    closing({ close: () => redis.stop() });
    return { kind: 'redis', url: redis.url };
  },
};

describe.each(Object.entries(STORES))('stopped with SIGTERM and started again, %s store', (_, newStore) => {
  test.each(ERAS)(
    'a proper stop: the call is answered, the session and its upstream session stay, %s upstream',
    async (era) => {
      const upstream = await startUpstream(era);
      const store = await newStore();
      const first = await startKillableGateway(upstream.server.url, { store });
      const session = await openWireSession(first.url);
      const response = await session.request(1, 'tools/call', callParams('call'));
      await upstream.seen('call');
      upstream.progress('call', 1);
      const { id } = await response.next();
      expect(await first.stop()).toBe(0);
      expect(summary(response)).toEqual(['call:1', '1=-31012']);
      expect(upstream.server.requests.filter(({ httpMethod }) => httpMethod === 'DELETE')).toEqual([]);
      const second = await startKillableGateway(upstream.server.url, { store });
      const again = at(second.url, session);
      const resumed = await again.get(id);
      await resumed.text();
      expect(summary(resumed)).toEqual(['1=-31012']);
      expect((await again.call('ping')).status).toBe(200);
    },
  );

  test('an upstream that forgot its session: the client is told with 404', async () => {
    const upstream = await startUpstream('legacy');
    const store = await newStore();
    const first = await startKillableGateway(upstream.server.url, { store });
    const session = await openWireSession(first.url);
    await first.stop();
    upstream.server.become((request, res) => {
      if (request.method === 'server/discover') answer(res, 400, '');
      else
        answer(res, 404, { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } });
    });
    const second = await startKillableGateway(upstream.server.url, { store });
    const again = at(second.url, session);
    expect((await again.request(1, 'tools/call', callParams('call'))).status).toBe(404);
    expect((await again.request(2, 'ping')).status).toBe(404);
  });

  test('subscriptions to resources of a modern upstream are made again', async () => {
    const upstream = closing(await startModernServer());
    const store = await newStore();
    const first = await startKillableGateway(upstream.url, { store });
    const session = await openWireSession(first.url);
    const uri = 'test://watched-resource';
    expect((await session.call('resources/subscribe', { uri })).message.result).toEqual({});
    await first.stop();
    const second = await startKillableGateway(upstream.url, { store });
    const before = upstream.requestsFor('subscriptions/listen').length;
    const stream = closing(await at(second.url, session).get());
    expect(stream.status).toBe(200);
    await expect.poll(() => upstream.requestsFor('subscriptions/listen').length).toBeGreaterThan(before);
    const filters = () =>
      upstream
        .requestsFor('subscriptions/listen')
        .slice(before)
        .map(({ message }) => JSON.stringify(message.params));
    await expect.poll(() => filters().some((text) => text.includes(uri))).toBe(true);
  });
});

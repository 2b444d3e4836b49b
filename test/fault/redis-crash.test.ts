import { describe, expect, test } from 'vitest';
import { ERAS } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { at, callParams, startUpstream, summary } from '../peers/driven-upstream.js';
import { startGateway } from '../peers/gateway.js';
import { startKillableGateway } from '../peers/killable-gateway.js';
import type { RawResponse } from '../peers/raw-client.js';
import { startRedis } from '../peers/redis-server.js';
import { type WireSession, openWireSession } from '../peers/wire-client.js';
import { temporaryFolder } from '../peers/temporary-folder.js';

/** The gateway's codes for a call whose outcome nobody knows, and for a store that cannot be reached. */
const OUTCOME_UNKNOWN = -31003;
const STORE_UNAVAILABLE = -31015;

async function startStore(folder?: string) {
  const redis = await startRedis(folder);
  closing({ close: () => redis.stop() });
  return { redis, settings: { store: { kind: 'redis', url: redis.url } } };
}

/** Resumes as clients do: again after a 503, which says when. */
async function resume(session: WireSession, id: string | undefined): Promise<RawResponse> {
  for (let tries = 0; ; tries++) {
    const response = await session.get(id);
    if (response.status !== 503 || tries > 20) return response;
    expect(response.headers['retry-after']).toBeDefined();
    expect((await response.rpc()).error.code).toBeLessThan(-31000);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** Processes start, and one that died is believed to live for a while. */
const TIMEOUT_MS = 60_000;

describe.each(ERAS)('kill -9 in mid-call with a redis store, %s upstream', (era) => {
  test.each([
    ['the same instance again', false],
    ['another instance of a cluster', true],
  ])(
    '%s: the rest of the log, then an error for the request that died',
    async (_, clustered) => {
      const { redis, settings } = await startStore();
      const upstream = await startUpstream(era);
      const all = { ...settings, ...(clustered && { cluster: { url: redis.url } }) };
      const first = await startKillableGateway(upstream.server.url, all);
      const early = clustered ? await startKillableGateway(upstream.server.url, all) : undefined;
      const session = await openWireSession(first.url);
      const response = await session.request('call', 'tools/call', callParams('call'));
      await upstream.seen('call');
      upstream.progress('call', 1);
      const { id } = await response.next();
      upstream.progress('call', 2);
      await response.next();
      await first.kill();

      const second = early ?? (await startKillableGateway(upstream.server.url, all));
      const again = at(second.url, session);
      const resumed = await resume(again, id);
      expect(resumed.status).toBe(200);
      await resumed.text();
      expect(summary(resumed)).toEqual(['call:2', `call=${OUTCOME_UNKNOWN}`]);
      const next = await again.request('next', 'tools/call', callParams('next'));
      await upstream.seen('next');
      upstream.progress('next', 1);
      upstream.finish('next');
      await next.text();
      expect(summary(next)).toEqual(['next:1', 'next=next']);
      if (!clustered) return;

      // A third instance finds the session where it went, although its id names the dead one.
      const third = at((await startKillableGateway(upstream.server.url, all)).url, session);
      const elsewhere = await resume(third, id);
      await elsewhere.text();
      expect(summary(elsewhere)).toEqual(summary(resumed));
      expect((await third.delete()).status).toBe(204);
      expect((await again.request(1, 'ping')).status).toBe(404);
    },
    TIMEOUT_MS,
  );
});

describe('redis goes away and comes back', () => {
  test('frozen: 503 at once for what is new, and nothing that was acknowledged is lost', async () => {
    const { redis, settings } = await startStore();
    const upstream = await startUpstream('modern');
    const gateway = closing(await startGateway(upstream.server.url, settings));
    const session = await openWireSession(gateway.url);
    const response = await session.request('call', 'tools/call', callParams('call'));
    await upstream.seen('call');
    upstream.progress('call', 1);
    await response.next();
    redis.freeze();
    upstream.progress('call', 2);
    await expect.poll(async () => (await session.request('new', 'ping')).status, { timeout: 6000 }).toBe(503);
    const refused = await session.request('new', 'tools/call', callParams('new'));
    expect(await refused.rpc()).toMatchObject({ id: 'new', error: { code: STORE_UNAVAILABLE } });
    upstream.finish('call');
    // What is not kept is not told.
    expect(summary(response)).toEqual(['call:1']);
    redis.thaw();
    await response.text();
    expect(summary(response)).toEqual(['call:1', 'call:2', 'call=call']);
    expect((await session.request('new', 'ping')).status).toBe(200);
  });

  test('killed and started again with its log: sessions and streams go on', async () => {
    const { redis, settings } = await startStore(temporaryFolder());
    const upstream = await startUpstream('modern');
    const gateway = closing(await startGateway(upstream.server.url, settings));
    const session = await openWireSession(gateway.url);
    const response = await session.request('call', 'tools/call', callParams('call'));
    await upstream.seen('call');
    upstream.progress('call', 1);
    const { id } = await response.next();
    await redis.kill();
    upstream.progress('call', 2);
    await expect.poll(async () => (await session.request('new', 'ping')).status).toBe(503);
    await redis.restart();
    upstream.progress('call', 3);
    upstream.finish('call');
    await response.text();
    expect(summary(response)).toEqual(['call:1', 'call:2', 'call:3', 'call=call']);
    const resumed = await resume(session, id);
    await resumed.text();
    expect(summary(resumed)).toEqual(['call:2', 'call:3', 'call=call']);
  });

  test('started again empty: the session is gone, and its client is told', async () => {
    const { redis, settings } = await startStore();
    const upstream = await startUpstream('modern');
    const gateway = closing(await startGateway(upstream.server.url, settings));
    const session = await openWireSession(gateway.url);
    const response = await session.request('call', 'tools/call', callParams('call'));
    await upstream.seen('call');
    upstream.progress('call', 1);
    await response.next();
    await redis.restart();
    upstream.finish('call');
    await expect.poll(async () => (await session.request('new', 'ping')).status, { timeout: 8000 }).toBe(404);
    await response.ended;
    const fresh = await openWireSession(gateway.url);
    expect((await fresh.call('ping')).status).toBe(200);
  });
});

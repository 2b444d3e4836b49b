import { describe, expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { startLegacyServer } from '../peers/legacy-server.js';
import { callModern, KEY } from '../peers/wire-client.js';

const RESERVED = Object.values(KEY);

async function started(upstreamConfig: Record<string, unknown> = {}) {
  const upstream = closing(await startLegacyServer());
  const gateway = closing(await startGateway(upstream.url, {}, upstreamConfig));
  const count = async (options: Parameters<typeof callModern>[3] = {}): Promise<string> => {
    const { status, message } = await callModern(
      gateway.url,
      'tools/call',
      { name: 'probe_counter' },
      options,
    );
    if (status !== 200) throw new Error(`HTTP ${status}: ${JSON.stringify(message)}`);
    return message.result.content[0].text;
  };
  return { upstream, gateway, count };
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

describe('C7 a modern client and a stateful legacy upstream', () => {
  test('C7 the first request ever is tools/call: initialize, initialized, then the call', async () => {
    const { upstream, gateway } = await started();
    const meta = { 'example.com/trace': 'kept', progressToken: 'p' };
    const { status, message } = await callModern(
      gateway.url,
      'tools/call',
      { name: 'probe_counter' },
      {
        id: 'first',
        meta,
        headers: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
      },
    );
    expect(status).toBe(200);
    expect(message).toMatchObject({
      id: 'first',
      result: { resultType: 'complete', content: [{ text: '1' }] },
    });

    const seen = upstream.requests.filter(({ method }) => method !== 'server/discover');
    expect(seen.map(({ method }) => method)).toEqual([
      'initialize',
      'notifications/initialized',
      'tools/call',
    ]);
    const [initialize, initialized, call] = seen;
    expect(initialize?.headers).not.toHaveProperty('mcp-session-id');
    expect(initialize?.headers).not.toHaveProperty('mcp-protocol-version');
    expect(initialize?.message.params).toMatchObject({
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'wire-client', version: '1.0.0' },
    });
    for (const request of [initialized, call]) {
      expect(request?.headers['mcp-session-id']).toMatch(/^[0-9a-f-]{36}$/);
      expect(request?.headers['mcp-protocol-version']).toBe('2025-11-25');
    }
    for (const request of upstream.requests.slice(1)) {
      expect(Object.keys(request.headers).filter((name) => /^mcp-(?:method|name|param)/.test(name))).toEqual(
        [],
      );
    }
    expect(Object.keys(call?.message.params._meta)).toEqual(
      expect.arrayContaining(['example.com/trace', 'progressToken']),
    );
    expect(RESERVED.filter((key) => call?.body.includes(key))).toEqual([]);
    expect(RESERVED.filter((key) => initialize?.body.includes(key))).toEqual([]);
    expect(call?.headers['traceparent']).toBe('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01');
  });

  test('C7 calls of one principal share one session', async () => {
    const { upstream, count } = await started();
    expect(await count(bearer('a'))).toBe('1');
    expect(await count(bearer('a'))).toBe('2');
    expect(await count(bearer('a'))).toBe('3');
    expect(upstream.sessionsCreated).toBe(1);
  });

  test('C7 parallel first calls open one session', async () => {
    const { upstream, count } = await started();
    const counts = await Promise.all(Array.from({ length: 10 }, () => count(bearer('a'))));
    expect(counts.map(Number).sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(upstream.requestsFor('initialize')).toHaveLength(1);
  });

  test('C7 two principals have two sessions, and the state does not leak', async () => {
    const { upstream, count } = await started();
    expect(await count(bearer('a'))).toBe('1');
    expect(await count(bearer('a'))).toBe('2');
    expect(await count(bearer('b'))).toBe('1');
    expect(await count(bearer('a'))).toBe('3');
    expect(await count()).toBe('1');
    expect(upstream.sessionsCreated).toBe(3);
    const authorizations = upstream.requestsFor('initialize').map(({ headers }) => headers.authorization);
    expect(authorizations).toEqual(['Bearer a', 'Bearer b', undefined]);
    for (const { headers } of upstream.requestsFor('tools/call')) {
      const opener = upstream.sessions.get(String(headers['mcp-session-id']));
      expect(opener).toBeDefined();
    }
  });

  test('C7 another clientInfo, or other capabilities, is another session', async () => {
    const { upstream, count } = await started();
    expect(await count()).toBe('1');
    expect(await count({ meta: { [KEY.clientInfo]: { name: 'other', version: '1' } } })).toBe('1');
    expect(await count({ meta: { [KEY.clientCapabilities]: { sampling: {} } } })).toBe('1');
    expect(await count()).toBe('2');
    expect(upstream.requestsFor('initialize').map(({ message }) => message.params.capabilities)).toEqual([
      {},
      {},
      { sampling: {} },
    ]);
  });

  test('C7 exclusive sessions: one for each call, each ended with DELETE', async () => {
    const { upstream, count } = await started({ sessions: 'exclusive', era: 'legacy' });
    expect(await count(bearer('a'))).toBe('1');
    expect(await count(bearer('a'))).toBe('1');
    expect(upstream.sessionsCreated).toBe(2);
    await expect.poll(() => upstream.sessions.size).toBe(0);
  });

  test('C7 the end of the gateway ends the sessions upstream', async () => {
    const { upstream, gateway, count } = await started();
    await count();
    await gateway.close();
    await expect
      .poll(() => upstream.requests.filter(({ httpMethod }) => httpMethod === 'DELETE').length)
      .toBe(1);
  });
});

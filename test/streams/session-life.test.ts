import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { ERAS, startPeer } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { startLegacyServer } from '../peers/legacy-server.js';
import { startModernServer } from '../peers/modern-server.js';
import { sendRaw } from '../peers/raw-client.js';
import { legacyScript, answerResult, startScriptedServer } from '../peers/scripted-server.js';
import { POST_HEADERS, callModern, initializeText, openWireSession } from '../peers/wire-client.js';
import { SessionTable } from '../../adapters/2025-11-25/downstream/session-table.js';
import { parseConfig } from '../../src/config/config.js';
import { MemoryStore } from '../../src/replay/memory-store.js';
import { createLog } from '../../src/telemetry/log.js';
import { startDriven } from './driven-upstream.js';

const pauseMs = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe.each(ERAS)('X3 the life of a session, %s upstream', (era) => {
  test('X3 idle: it ends after the idle time, with 404 for everything, and not before', async () => {
    const upstream = closing(await startPeer(era));
    const gateway = closing(await startGateway(upstream.url, { sessions: { idleMs: 1000 } }));
    const session = await openWireSession(gateway.url);
    for (let i = 0; i < 4; i++) {
      await pauseMs(300);
      expect((await session.call('ping')).status).toBe(200);
    }
    await pauseMs(1100);
    expect((await session.call('ping')).status).toBe(404);
    expect((await session.get()).status).toBe(404);
    expect((await session.delete()).status).toBe(404);
  });

  test('X3 an open stream or a running call keeps it, and its end leaves the whole idle time', async () => {
    const { gateway, call } = await startDriven(era, { config: { sessions: { idleMs: 600 } } });
    const withStream = await openWireSession(gateway.url);
    const withCall = await openWireSession(gateway.url);
    const stream = await withStream.get();
    const [response, running] = await call(withCall, 'p');
    running.progress(1);
    await response.next();
    response.close();
    await pauseMs(800);
    stream.close();
    running.finish();
    await pauseMs(100);
    expect((await withStream.call('ping')).status).toBe(200);
    expect((await withCall.call('ping')).status).toBe(200);
  });

  test('X3 old: it ends at its age in any case, and its streams end with it', async () => {
    const upstream = closing(await startPeer(era));
    const gateway = closing(await startGateway(upstream.url, { sessions: { maxAgeMs: 400 } }));
    const session = await openWireSession(gateway.url);
    const stream = await session.get();
    const begin = performance.now();
    expect(await stream.ended).toBe('finished');
    expect(performance.now() - begin).toBeLessThan(1500);
    expect((await session.call('ping')).status).toBe(404);
  });

  test('X3 caps: 429 for one caller, 503 for all, with Retry-After; an ended session makes room', async () => {
    const upstream = closing(await startPeer(era));
    const gateway = closing(
      await startGateway(upstream.url, {
        sessions: { max: 3, maxPerPrincipal: 2 },
        limits: { retryAfterSeconds: 7 },
      }),
    );
    const open = (token: string) =>
      sendRaw(gateway.url, {
        headers: { ...POST_HEADERS, authorization: `Bearer ${token}` },
        body: initializeText({ id: 0 }),
      });
    const a = await openWireSession(gateway.url, { headers: { authorization: 'Bearer a' } });
    expect((await open('a')).status).toBe(200);
    const own = await open('a');
    expect([own.status, own.headers['retry-after']]).toEqual([429, '7']);
    expect(await own.rpc()).toMatchObject({ id: 0, error: { code: -31006 } });
    expect((await open('b')).status).toBe(200);
    const all = await open('b');
    expect([all.status, all.headers['retry-after']]).toEqual([503, '7']);
    await a.delete();
    expect((await open('b')).status).toBe(200);
  });

  test('X3 caps hold for sessions opened at one time, and refused ones leave no place taken', async () => {
    const upstream = closing(await startPeer(era));
    const gateway = closing(await startGateway(upstream.url, { sessions: { max: 100, maxPerPrincipal: 5 } }));
    const open = () => sendRaw(gateway.url, { headers: POST_HEADERS, body: initializeText() });
    const statuses = (await Promise.all(Array.from({ length: 20 }, open))).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(5);
    expect(statuses.filter((status) => status === 429)).toHaveLength(15);
  });
});

test('X3 an upstream that refuses every client takes no places', async () => {
  const upstream = closing(
    await startScriptedServer(
      legacyScript((request, res) => answerResult(res, request), {
        initialize: (request, res) =>
          answerResult(res, request, {
            protocolVersion: '1999-01-01',
            capabilities: {},
            serverInfo: { name: 'odd', version: '0' },
          }),
      }),
    ),
  );
  const gateway = closing(
    await startGateway(upstream.url, { sessions: { max: 2, maxPerPrincipal: 2 } }, { era: 'legacy' }),
  );
  for (let i = 0; i < 6; i++) {
    const refused = await sendRaw(gateway.url, { headers: POST_HEADERS, body: initializeText() });
    expect(refused.status).toBe(502);
  }
});

test('X3 DELETE ends streams, running calls, the upstream session, and its subscriptions', async () => {
  const upstream = closing(await startLegacyServer());
  const gateway = closing(await startGateway(upstream.url));
  const session = await openWireSession(gateway.url);
  const stream = await session.get();
  const call = await session.request(1, 'tools/call', {
    name: 'probe_slow',
    arguments: { ms: 60_000, tickMs: 50 },
    _meta: { progressToken: 1 },
  });
  await call.next();
  await expect.poll(() => upstream.requests.some(({ httpMethod }) => httpMethod === 'GET')).toBe(true);
  const deleted = await session.delete();
  expect(deleted.status).toBe(204);
  expect(await stream.ended).toBe('finished');
  expect(await call.ended).toBe('finished');
  expect(call.messages.at(-1)).toMatchObject({ id: 1, error: { code: -31011 } });
  await expect.poll(() => upstream.sessions.size).toBe(0);
  const gets = upstream.requests.filter(({ httpMethod }) => httpMethod === 'GET');
  await expect.poll(() => gets.every(({ ended }) => ended !== undefined)).toBe(true);
  expect(upstream.requests.filter(({ httpMethod }) => httpMethod === 'DELETE')).toHaveLength(1);
});

test('X3 DELETE closes what a session had open at a modern upstream', async () => {
  const upstream = closing(await startModernServer());
  const gateway = closing(await startGateway(upstream.url));
  const session = await openWireSession(gateway.url);
  closing(await session.get());
  const call = await session.request(1, 'tools/call', {
    name: 'probe_slow',
    arguments: { ms: 60_000, tickMs: 50 },
    _meta: { progressToken: 1 },
  });
  await call.next();
  const listens = () => upstream.requestsFor('subscriptions/listen');
  await expect.poll(() => listens().length).toBe(1);
  await session.delete();
  await expect.poll(() => listens()[0]?.ended).toBe('dropped');
  await expect.poll(() => upstream.requestsFor('tools/call')[0]?.ended).toBe('dropped');
  await expect.poll(() => upstream.aborted.length).toBe(1);
});

test("X3 a session that idles away ends its upstream session too; a modern client's idle one with DELETE", async () => {
  const upstream = closing(await startLegacyServer());
  const gateway = closing(await startGateway(upstream.url, { sessions: { idleMs: 200 } }));
  await openWireSession(gateway.url);
  await callModern(gateway.url, 'tools/list');
  expect(upstream.sessions.size).toBe(2);
  await expect.poll(() => upstream.sessions.size, { timeout: 3000 }).toBe(1);
});

test('X3 many sessions of legacy clients leave a modern client of the same caller its upstream session', async () => {
  const upstream = closing(await startLegacyServer());
  const config = { limits: { upstreamSessionsPerPrincipal: 2 } };
  const gateway = closing(await startGateway(upstream.url, config));
  for (let i = 0; i < 4; i++) await openWireSession(gateway.url);
  const { message } = await callModern(gateway.url, 'tools/list');
  expect(message.result.tools).not.toEqual([]);
  expect(upstream.sessions.size).toBe(5);
});

test('X3 a client that hangs up while its session is being opened leaves none behind', async () => {
  let letGo: (() => void) | undefined;
  const upstream = closing(
    await startLegacyServer({
      intercept: ({ method }) =>
        method !== 'initialize'
          ? false
          : new Promise((resolve) => {
              letGo = () => resolve(false);
            }),
    }),
  );
  const gateway = closing(await startGateway(upstream.url, {}, { era: 'legacy' }));
  const { port, host, pathname } = new URL(gateway.url);
  const socket = connect(Number(port), '127.0.0.1');
  const body = initializeText();
  const headers = { ...POST_HEADERS, host, 'content-length': String(Buffer.byteLength(body)) };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
  await expect.poll(() => letGo).toBeDefined();
  socket.destroy();
  await pauseMs(50);
  letGo?.();
  await expect.poll(() => upstream.sessionsCreated).toBe(1);
  await expect.poll(() => upstream.sessions.size).toBe(0);
});

test('X3 anonymous callers have their caps by address, others by credential', () => {
  const config = parseConfig({ sessions: { maxPerPrincipal: 1 } });
  const table = closing(
    new SessionTable({
      config,
      log: createLog('silent'),
      servedRevisions: [],
      instance: 'test',
      store: new MemoryStore(),
    }),
  );
  const client = { revision: '2025-11-25', capabilities: '{}' };
  const anonymous = { key: 'anonymous', anonymous: true };
  const known = { key: createHash('sha256').update('k').digest('hex'), anonymous: false };
  const open = (principal: typeof anonymous, address: string) =>
    table.create(client, principal, 'u', undefined, address);
  const first = open(anonymous, '192.0.2.1');
  expect(() => open(anonymous, '192.0.2.1')).toThrow(expect.objectContaining({ status: 429 }));
  open(anonymous, '192.0.2.2');
  open(known, '192.0.2.1');
  expect(() => open(known, '192.0.2.9')).toThrow(expect.objectContaining({ status: 429 }));
  first.end('test');
  open(anonymous, '192.0.2.1');
});

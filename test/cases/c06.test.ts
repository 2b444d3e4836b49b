import { describe, expect, test } from 'vitest';
import { ERAS, startPeer, startScript } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { startLegacyServer } from '../peers/legacy-server.js';
import {
  type Script,
  answer,
  answerResult,
  answerRpcError,
  legacyScript,
  startScriptedServer,
} from '../peers/scripted-server.js';
import { callModern, modernText, openWireClient, openWireSession, postModern } from '../peers/wire-client.js';

describe.each(ERAS)('C6 an unknown method, %s upstream', (era) => {
  async function started() {
    const upstream = closing(await startPeer(era));
    return { upstream, gateway: closing(await startGateway(upstream.url)) };
  }

  test('C6 in a legacy session: HTTP 200 and -32601, and the session lives on', async () => {
    const { gateway } = await started();
    const session = await openWireSession(gateway.url);
    const { status, message } = await session.call('no/such-method', { a: 1 }, 'u');
    expect(status).toBe(200);
    expect(message).toMatchObject({ id: 'u', error: { code: -32601 } });
    expect((await session.call('tools/list')).message.result.tools).not.toEqual([]);
  });

  test('C6 from a modern client: HTTP 404 and -32601', async () => {
    const { gateway } = await started();
    const { status, message } = await callModern(gateway.url, 'no/such-method', { a: 1 }, { id: 'u' });
    expect(status).toBe(404);
    expect(message).toMatchObject({ id: 'u', error: { code: -32601 } });
    expect((await callModern(gateway.url, 'tools/list')).status).toBe(200);
  });

  test.each(['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'])(
    'C6 %s is unknown to a modern client: HTTP 404 and -32601',
    async (method) => {
      const { gateway, upstream } = await started();
      const { status, message } = await callModern(gateway.url, method, {}, { id: 3 });
      expect(status).toBe(404);
      expect(message).toMatchObject({ id: 3, error: { code: -32601 } });
      expect(upstream.requestsFor(method)).toEqual([]);
    },
  );

  test('C6 a dead session: 404 with a JSON-RPC error for POST, GET and DELETE', async () => {
    const { gateway } = await started();
    const session = await openWireSession(gateway.url);
    expect((await session.delete()).status).toBe(204);
    const posted = await session.request('late', 'tools/list');
    expect(posted.status).toBe(404);
    expect(await posted.rpc()).toMatchObject({ jsonrpc: '2.0', id: 'late', error: { code: -31011 } });
    for (const response of [await session.get(), await session.delete()]) {
      expect(response.status).toBe(404);
      expect(response.headers['content-type']).toBe('application/json');
      expect(await response.rpc()).toMatchObject({ jsonrpc: '2.0', error: { code: -31011 } });
    }
    const notified = await session.notify('notifications/initialized');
    expect(notified.status).toBe(404);
  });

  test('C6 the end of a session is the end of its streams', async () => {
    const { gateway } = await started();
    const session = await openWireSession(gateway.url);
    const stream = await session.get();
    await session.delete();
    expect(await stream.ended).toBe('finished');
  });
});

describe('C6 404 with a -32601 body from the upstream', () => {
  const unknownMethod: Script = (request, res) =>
    answerRpcError(res, request, 404, -32601, 'Method not found', { method: request.method });

  test.each(ERAS)('C6 inside a live legacy session: relayed to a %s client, no new session', async (era) => {
    const upstream = closing(await startScript('legacy', unknownMethod));
    const gateway = closing(await startGateway(upstream.url));
    const client = await openWireClient(era, gateway.url);
    for (const id of [1, 2]) {
      const { status, message } = await client.call('prompts/list', {}, { id });
      expect(status).toBe(era === 'legacy' ? 200 : 404);
      expect(message).toMatchObject({ id, error: { code: -32601, data: { method: 'prompts/list' } } });
    }
    expect(upstream.requestsFor('initialize')).toHaveLength(1);
    expect(upstream.requestsFor('prompts/list')).toHaveLength(2);
  });

  test.each(ERAS)('C6 from a modern upstream: relayed to a %s client', async (era) => {
    const upstream = closing(await startScript('modern', unknownMethod));
    const gateway = closing(await startGateway(upstream.url));
    const client = await openWireClient(era, gateway.url);
    const { status, message } = await client.call('prompts/list', {}, { id: 0 });
    expect(status).toBe(era === 'legacy' ? 200 : 404);
    expect(message).toMatchObject({ id: 0, error: { code: -32601 } });
    expect(gateway.verdict('default')?.era).toBe('modern');
    expect(upstream.requestsFor('server/discover')).toHaveLength(1);
    expect(upstream.requestsFor('prompts/list')).toHaveLength(1);
  });
});

describe('C6 an upstream that forgot its sessions', () => {
  /** Knows no session but the newest one that was opened after `forget`. */
  async function forgetful(refuse: Script) {
    let alive = 1;
    const upstream = closing(
      await startScriptedServer(
        legacyScript((request, res) => {
          if (request.headers['mcp-session-id'] !== `session-${alive}`) return refuse(request, res);
          answerResult(res, request, { content: [{ type: 'text', text: 'ran' }] });
        }),
      ),
    );
    const gateway = closing(await startGateway(upstream.url));
    return { upstream, gateway, forget: () => (alive = 2) };
  }

  test.each<[string, Script]>([
    ['an empty 404', (_, res) => answer(res, 404, '', {})],
    [
      '404 and plain text',
      (_, res) => answer(res, 404, 'Invalid session ID', { 'content-type': 'text/plain' }),
    ],
    [
      '404 and a JSON-RPC error',
      (request, res) => answerRpcError(res, request, 404, -32001, 'Session not found'),
    ],
    [
      '400 and "No valid session ID"',
      (_, res) =>
        answer(res, 400, {
          jsonrpc: '2.0',
          id: null,
          error: { code: -32000, message: 'Bad Request: No valid session ID provided' },
        }),
    ],
  ])('C6 %s: one re-initialise for 20 parallel modern callers', async (_, refuse) => {
    const { upstream, gateway, forget } = await forgetful(refuse);
    expect((await callModern(gateway.url, 'tools/call', { name: 't' })).status).toBe(200);
    forget();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, id) => callModern(gateway.url, 'tools/call', { name: 't' }, { id })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(answers.map(({ message }) => message.id)).toEqual(answers.map((_, id) => id));
    expect(answers.every(({ message }) => message.result.content[0].text === 'ran')).toBe(true);
    expect(upstream.requestsFor('initialize')).toHaveLength(2);
  });

  test('C6 a session that is forgotten at once: an error, no endless loop', async () => {
    const upstream = closing(await startScriptedServer(legacyScript((_, res) => answer(res, 404, '', {}))));
    const gateway = closing(await startGateway(upstream.url));
    const { status, message } = await callModern(gateway.url, 'tools/call', { name: 't' }, { id: '0' });
    expect(status).toBe(502);
    expect(message).toMatchObject({ id: '0', error: { code: -31002 } });
    expect(upstream.requestsFor('initialize').length).toBeLessThanOrEqual(2);
  });

  test('C6 a legacy client learns that its state was lost: 404 for the call and for what follows', async () => {
    const upstream = closing(await startLegacyServer());
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    expect((await session.call('tools/call', { name: 'probe_counter' })).status).toBe(200);
    await upstream.forgetSessions();
    const lost = await session.call('tools/call', { name: 'probe_counter' }, 'lost');
    expect(lost.status).toBe(404);
    expect(lost.message).toMatchObject({ id: 'lost', error: { code: -31011 } });
    expect((await session.request(2, 'tools/list')).status).toBe(404);
    const again = await openWireSession(gateway.url);
    expect((await again.call('tools/call', { name: 'probe_counter' })).message.result.content[0].text).toBe(
      '1',
    );
  });

  test('C6 a modern client goes on in a new session, without noticing', async () => {
    const upstream = closing(await startLegacyServer());
    const gateway = closing(await startGateway(upstream.url));
    const call = () => callModern(gateway.url, 'tools/call', { name: 'probe_counter' });
    await call();
    expect((await call()).message.result.content[0].text).toBe('2');
    await upstream.forgetSessions();
    expect((await call()).message.result.content[0].text).toBe('1');
    expect(upstream.sessionsCreated).toBe(2);
  });
});

test('C6 a modern client that shows a session id is served as modern', async () => {
  const upstream = closing(await startPeer('modern'));
  const gateway = closing(await startGateway(upstream.url));
  const response = await postModern(gateway.url, modernText(1, 'tools/list'), { 'mcp-session-id': 'stale' });
  expect(response.status).toBe(200);
  expect(response.headers).not.toHaveProperty('mcp-session-id');
  expect((await response.rpc()).result.resultType).toBe('complete');
});

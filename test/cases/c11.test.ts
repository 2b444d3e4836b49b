import { describe, expect, test } from 'vitest';
import { ERAS, startPeer } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { startLegacyServer } from '../peers/legacy-server.js';
import { sendRaw } from '../peers/raw-client.js';
import { type WireSession, openWireSession } from '../peers/wire-client.js';

const A = { authorization: 'Bearer token-of-a' };

/** Credentials that are not A's, absent and nearly equal ones included. */
const OTHERS: [string, Record<string, string>][] = [
  ['of B', { authorization: 'Bearer token-of-b' }],
  ['missing', {}],
  ['empty', { authorization: '' }],
  ['of A in another case', { authorization: 'Bearer Token-Of-A' }],
  ['of A in another scheme', { authorization: 'Basic token-of-a' }],
];

/** The session of A as another caller would show it. */
const shownBy = (session: WireSession, headers: Record<string, string>): Record<string, string> => {
  const { authorization: _own, ...rest } = session.headers;
  return { ...rest, ...headers };
};

describe.each(ERAS)('C11 whose session it is, %s upstream', (era) => {
  async function started() {
    const upstream = closing(await startPeer(era));
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url, { headers: A });
    return { upstream, gateway, session };
  }

  test.each(OTHERS)('C11 with a credential %s: POST, GET and DELETE are answered 404', async (_, headers) => {
    const { gateway, session, upstream } = await started();
    const stream = closing(await session.get());
    const shown = shownBy(session, headers);
    const post = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
    const posted = await sendRaw(gateway.url, {
      headers: { ...shown, ...post },
      body: '{"jsonrpc":"2.0","id":"b","method":"tools/list"}',
    });
    const got = await sendRaw(gateway.url, {
      method: 'GET',
      headers: { ...shown, accept: 'text/event-stream' },
    });
    const deleted = await sendRaw(gateway.url, { method: 'DELETE', headers: shown });
    expect([posted.status, got.status, deleted.status]).toEqual([404, 404, 404]);
    expect(await posted.rpc()).toMatchObject({ id: 'b', error: { code: -31011 } });
    const authorizations = upstream.requests.map(({ headers: { authorization } }) => authorization);
    expect(new Set(authorizations)).toEqual(new Set([A.authorization]));

    expect(stream.isOver).toBe(false);
    expect((await session.call('tools/list')).message.result.tools).not.toEqual([]);
  });

  test('C11 a foreign session is answered exactly like an unknown one', async () => {
    const { gateway, session } = await started();
    const stranger = { ...shownBy(session, { authorization: 'Bearer token-of-b' }) };
    const unknown = { ...stranger, 'mcp-session-id': 'A'.repeat(session.id.length) };
    for (const method of ['POST', 'GET', 'DELETE'] as const) {
      const [foreign, never] = await Promise.all(
        [stranger, unknown].map(async (headers) => {
          const response = await sendRaw(gateway.url, {
            method,
            headers: {
              ...headers,
              accept: 'application/json, text/event-stream',
              'content-type': 'application/json',
            },
            ...(method === 'POST' && { body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' }),
          });
          const { date: _date, ...rest } = response.headers;
          return { status: response.status, headers: rest, body: await response.text() };
        }),
      );
      expect(foreign).toEqual(never);
    }
  });

  test("C11 A's event id is worth nothing to B, in A's session and in B's own", async () => {
    const { gateway, session } = await started();
    const response = await session.request(1, 'tools/call', {
      name: 'test_tool_with_progress',
      _meta: { progressToken: 1 },
    });
    const { id } = await response.next();
    const b = { authorization: 'Bearer token-of-b' };
    const other = await openWireSession(gateway.url, { headers: b });
    expect((await other.get(id)).status).toBe(400);
    const stolen = await sendRaw(gateway.url, {
      method: 'GET',
      headers: { ...shownBy(session, b), accept: 'text/event-stream', 'last-event-id': String(id) },
    });
    expect(stolen.status).toBe(404);
    await response.text();
    const resumed = await session.get(id);
    await resumed.text();
    expect(resumed.messages.at(-1)).toMatchObject({ id: 1, result: {} });
  });

  test('C11 a session of an anonymous client is not that of one with a credential', async () => {
    const upstream = closing(await startPeer(era));
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    expect((await session.request(1, 'ping', undefined, A)).status).toBe(404);
    expect((await session.request(1, 'ping')).status).toBe(200);
  });
});

test("C11 A's GET stream goes on after B tried", async () => {
  const upstream = closing(await startLegacyServer());
  const gateway = closing(await startGateway(upstream.url));
  const session = await openWireSession(gateway.url, { headers: A });
  const stream = closing(await session.get());
  await expect.poll(() => upstream.requests.some(({ httpMethod }) => httpMethod === 'GET')).toBe(true);
  for (const method of ['GET', 'DELETE'] as const) {
    const headers = { ...shownBy(session, { authorization: 'Bearer b' }), accept: 'text/event-stream' };
    expect((await sendRaw(gateway.url, { method, headers })).status).toBe(404);
  }
  await upstream.announce('tools');
  expect((await stream.nextMessage()).method).toBe('notifications/tools/list_changed');
  expect(upstream.sessions.size).toBe(1);
});

import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { GATEWAY_CODE } from '../../src/errors/gateway-error.js';
import { CELLS, ERAS, startScript } from '../peers/cells.js';
import { makeCertificate } from '../peers/certificate.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { connectModernClient } from '../peers/modern-client.js';
import { type RawResponse, sendRaw } from '../peers/raw-client.js';
import {
  type Script,
  answer,
  answerResult,
  legacyScript,
  modernScript,
  openStream,
  resultText,
  scriptedTool,
  startScriptedServer,
} from '../peers/scripted-server.js';
import {
  type Era,
  POST_HEADERS,
  callModern,
  initializeText,
  modernText,
  openWireClient,
  postModern,
} from '../peers/wire-client.js';

/** The ids whose types get lost first. */
const IDS = [0, '0', 1] as const;

/** Everything here is answered at once, or after one of these. In milliseconds. */
const TIMEOUTS = { probeMs: 150, initializeMs: 150, callMs: 150, connectMs: 500, eraRetryMs: 1 };

/** No client waits longer for its error than this, in milliseconds. */
const BOUND_MS = 2500;

interface Expected {
  readonly code: number;
  readonly status: number;
  readonly headers?: Record<string, string>;
}

const HTML = { 'content-type': 'text/html' };
const CHALLENGE = 'Bearer resource_metadata="https://auth.example/.well-known/oauth-protected-resource"';

const html =
  (status: number): Script =>
  (_, res) =>
    answer(res, status, '<!doctype html><h1>Hello</h1>', HTML);

/** What an upstream may do instead of answering, whatever it is asked. */
const FAILURES: [string, Script, Expected][] = [
  ['is silent', () => undefined, { code: GATEWAY_CODE.upstreamTimeout, status: 504 }],
  ['answers an HTML page with 200', html(200), { code: GATEWAY_CODE.upstreamProtocol, status: 502 }],
  ['answers an HTML page with 500', html(500), { code: GATEWAY_CODE.upstreamStatus, status: 502 }],
  ['answers an HTML page with 502', html(502), { code: GATEWAY_CODE.upstreamStatus, status: 502 }],
  [
    'answers 503 with Retry-After',
    (_, res) => answer(res, 503, '', { 'retry-after': '7' }),
    { code: GATEWAY_CODE.upstreamStatus, status: 503, headers: { 'retry-after': '7' } },
  ],
  [
    'answers 200 with JSON that is no JSON-RPC',
    (_, res) => answer(res, 200, { hello: 'world' }),
    { code: GATEWAY_CODE.upstreamProtocol, status: 502 },
  ],
  [
    'answers 200 with null',
    (_, res) => answer(res, 200, 'null'),
    { code: GATEWAY_CODE.upstreamProtocol, status: 502 },
  ],
  [
    'answers 200 with nothing',
    (_, res) => answer(res, 200, ''),
    { code: GATEWAY_CODE.upstreamProtocol, status: 502 },
  ],
  ['answers 202', (_, res) => answer(res, 202, '', {}), { code: GATEWAY_CODE.upstreamProtocol, status: 502 }],
  [
    'closes the connection in the middle of the body',
    (request, res) => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      res.write(resultText(request).slice(0, 10), () => res.destroy());
    },
    { code: GATEWAY_CODE.outcomeUnknown, status: 502 },
  ],
  [
    'closes the connection without an answer',
    (_, res) => void res.destroy(),
    { code: GATEWAY_CODE.outcomeUnknown, status: 502 },
  ],
  [
    'answers under another id',
    (_, res) => answer(res, 200, { jsonrpc: '2.0', id: 'not-yours', result: { resultType: 'complete' } }),
    { code: GATEWAY_CODE.upstreamProtocol, status: 502 },
  ],
  [
    'redirects to another origin with 307',
    (_, res) => answer(res, 307, '', { location: 'http://127.0.0.2:9/mcp' }),
    { code: GATEWAY_CODE.upstreamStatus, status: 502 },
  ],
  [
    'redirects with 302, which would lose the body',
    (request, res) => answer(res, 302, '', { location: request.path }),
    { code: GATEWAY_CODE.upstreamStatus, status: 502 },
  ],
  [
    'redirects to itself for ever',
    (request, res) => answer(res, 307, '', { location: request.path }),
    { code: GATEWAY_CODE.upstreamStatus, status: 502 },
  ],
  [
    'answers 401 with a challenge',
    (_, res) => answer(res, 401, '', { 'www-authenticate': CHALLENGE }),
    { code: GATEWAY_CODE.upstreamStatus, status: 401, headers: { 'www-authenticate': CHALLENGE } },
  ],
  [
    'answers 403',
    (_, res) => answer(res, 403, '', { 'www-authenticate': 'Bearer error="insufficient_scope"' }),
    {
      code: GATEWAY_CODE.upstreamStatus,
      status: 403,
      headers: { 'www-authenticate': 'Bearer error="insufficient_scope"' },
    },
  ],
  [
    'answers 429 with Retry-After',
    (_, res) => answer(res, 429, '', { 'retry-after': '3' }),
    { code: GATEWAY_CODE.upstreamStatus, status: 429, headers: { 'retry-after': '3' } },
  ],
];

function expectError(response: RawResponse, message: any, id: unknown, expected: Expected): void {
  expect(message).toMatchObject({ jsonrpc: '2.0', id, error: { code: expected.code } });
  expect(message.error.message).toMatch(/\w+ \w+/);
  expect(Object.keys(message).sort()).toEqual(['error', 'id', 'jsonrpc']);
  expect(response.status).toBe(expected.status);
  expect(response.headers['content-type']).toBe('application/json');
  expect(response.headers).toMatchObject(expected.headers ?? {});
  expect(response.headers).not.toHaveProperty('mcp-session-id');
}

/** The first request of a client: `initialize`, or any request of the modern era. */
function firstContact(era: Era, url: string, id: string | number, method: string): Promise<RawResponse> {
  if (era === 'legacy') return sendRaw(url, { headers: POST_HEADERS, body: initializeText({ id }) });
  const params = method === 'tools/call' ? { name: 't' } : {};
  return postModern(url, modernText(id, method, params));
}

describe.each(ERAS)('the first contact of a %s client with an upstream that fails', (era) => {
  const methods = era === 'legacy' ? ['initialize'] : ['server/discover', 'tools/call'];

  test.each(FAILURES)('one that %s', async (_, script, expected) => {
    const upstream = closing(await startScriptedServer(script));
    const gateway = closing(await startGateway(upstream.url, { timeouts: TIMEOUTS }));
    for (const method of methods) {
      for (const id of IDS) {
        const begin = performance.now();
        const response = await firstContact(era, gateway.url, id, method);
        const message = await response.rpc();
        expect(performance.now() - begin).toBeLessThan(BOUND_MS);
        expectError(response, message, id, expected);
      }
    }
    expect(gateway.verdict('default')).toBeUndefined();
  });

  test('one that is not there: a 5xx at once', async () => {
    const gateway = closing(await startGateway(`http://127.0.0.1:${await freePort()}/mcp`));
    for (const method of methods) {
      for (const id of IDS) {
        const begin = performance.now();
        const response = await firstContact(era, gateway.url, id, method);
        expectError(response, await response.rpc(), id, {
          code: GATEWAY_CODE.upstreamUnreachable,
          status: 502,
        });
        expect(performance.now() - begin).toBeLessThan(500);
      }
    }
  });

  test('one whose certificate nobody vouches for', async () => {
    const tls = await makeCertificate();
    const upstream = closing(await startScriptedServer(() => undefined, { tls }));
    const gateway = closing(await startGateway(upstream.url, { timeouts: TIMEOUTS }));
    const response = await firstContact(era, gateway.url, 0, 'tools/call');
    expectError(response, await response.rpc(), 0, { code: GATEWAY_CODE.upstreamTls, status: 502 });
    expect(upstream.requests).toEqual([]);
  });

  test('one that speaks no TLS where TLS is configured', async () => {
    const upstream = closing(await startScriptedServer(() => undefined));
    const url = upstream.url.replace('http:', 'https:');
    const gateway = closing(await startGateway(url, { timeouts: TIMEOUTS }));
    const response = await firstContact(era, gateway.url, '0', 'tools/call');
    expectError(response, await response.rpc(), '0', { code: GATEWAY_CODE.upstreamTls, status: 502 });
  });

  test('one that accepts connections and says nothing', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing({ close: () => void server.close() });
    const { port } = server.address() as AddressInfo;
    server.on('connection', (socket) => closing({ close: () => void socket.destroy() }));
    const gateway = closing(await startGateway(`http://127.0.0.1:${port}/mcp`, { timeouts: TIMEOUTS }));
    const response = await firstContact(era, gateway.url, 1, 'tools/call');
    expectError(response, await response.rpc(), 1, { code: GATEWAY_CODE.upstreamTimeout, status: 504 });
  });
});

describe.each(CELLS)('a call on an upstream that fails later, $cell', (cell) => {
  /** Introduced properly; then every call fails. */
  async function started(fail: Script) {
    const upstream = closing(await startScript(cell.upstream, fail, { tools: [scriptedTool('t')] }));
    const gateway = closing(await startGateway(upstream.url, { timeouts: TIMEOUTS }));
    return { upstream, gateway, client: await openWireClient(cell.client, gateway.url) };
  }

  test.each(FAILURES)('one that %s', async (_, fail, expected) => {
    const { client } = await started(fail);
    for (const id of IDS) {
      const begin = performance.now();
      const response = await client.request(id, 'tools/call', { name: 't' });
      const message = await response.rpc();
      expect(performance.now() - begin).toBeLessThan(BOUND_MS);
      expectError(response, message, id, expected);
    }
  });

  test('one that answers 404 with a page: an error, and nothing is asked without end', async () => {
    const { upstream, client } = await started(html(404));
    const begin = performance.now();
    const response = await client.request(0, 'tools/call', { name: 't' });
    const message = await response.rpc();
    expect(performance.now() - begin).toBeLessThan(BOUND_MS);
    // A legacy upstream says with 404 that it lost the session, and a legacy client has to learn that.
    const lost = cell.client === 'legacy' && cell.upstream === 'legacy';
    const code = { legacy: GATEWAY_CODE.upstreamProtocol, modern: GATEWAY_CODE.upstreamStatus }[
      cell.upstream
    ];
    expectError(response, message, 0, {
      code: lost ? GATEWAY_CODE.sessionEnded : code,
      status: lost ? 404 : 502,
    });
    expect(upstream.requestsFor('tools/call').length).toBeLessThanOrEqual(2);
  });

  test('one that went away', async () => {
    const { upstream, client } = await started((request, res) =>
      answerResult(res, request, { resultType: 'complete', content: [] }),
    );
    expect((await client.call('tools/call', { name: 't' })).status).toBe(200);
    await upstream.close();
    const begin = performance.now();
    const response = await client.request('0', 'tools/call', { name: 't' });
    const message = await response.rpc();
    expect(performance.now() - begin).toBeLessThan(BOUND_MS);
    expect([GATEWAY_CODE.upstreamUnreachable, GATEWAY_CODE.outcomeUnknown]).toContain(message.error.code);
    expect([message.id, response.status]).toEqual(['0', 502]);
    const next = await client.request(0, 'tools/call', { name: 't' });
    expectError(next, await next.rpc(), 0, { code: GATEWAY_CODE.upstreamUnreachable, status: 502 });
  });

  test('one that answers under another id on a stream, then under the right one', async () => {
    const { client } = await started((request, res) => {
      const stream = openStream(res);
      stream.send({ jsonrpc: '2.0', id: 'not-yours', result: { stolen: true } });
      stream.send(
        resultText(request, { resultType: 'complete', content: [{ type: 'text', text: 'right' }] }),
      );
      stream.end();
    });
    const { message } = await client.call('tools/call', { name: 't' }, { id: 1 });
    expect(message).toMatchObject({ id: 1, result: { content: [{ text: 'right' }] } });
  });

  test('one that sends an event that is no JSON-RPC, then the response', async () => {
    const { client } = await started((request, res) => {
      const stream = openStream(res);
      stream.raw('data: not json\n\ndata: {"jsonrpc":"2.0"}\n\ndata: []\n\nevent: ping\ndata: \n\n');
      stream.send(resultText(request, { resultType: 'complete', content: [] }));
      stream.end();
    });
    const { status, message } = await client.call('tools/call', { name: 't' }, { id: 0 });
    expect(status).toBe(200);
    expect(message).toMatchObject({ id: 0, result: { content: [] } });
  });

  test.each([
    [401, 'www-authenticate', CHALLENGE],
    [403, 'www-authenticate', 'Bearer error="insufficient_scope", scope="tools:call"'],
    [429, 'retry-after', '11'],
    [503, 'retry-after', '12'],
  ])('%i with a JSON-RPC error: the error, the status and %s are relayed', async (status, name, value) => {
    const { client } = await started((request, res) => {
      const error = { code: 17, message: 'not now', data: { a: [1] } };
      const headers = { 'content-type': 'application/json', [name]: value };
      answer(res, status, { jsonrpc: '2.0', id: request.message.id, error }, headers);
    });
    const { headers, ...got } = await client.call('tools/call', { name: 't' }, { id: 0 });
    expect(got).toEqual({
      status,
      message: { jsonrpc: '2.0', id: 0, error: { code: 17, message: 'not now', data: { a: [1] } } },
    });
    expect(headers[name]).toBe(value);
  });

  test('neither cookies, nor CORS headers, nor a session id of the upstream come down', async () => {
    const { client } = await started((request, res) =>
      answerResult(
        res,
        request,
        { resultType: 'complete', content: [] },
        { 'set-cookie': 'a=b', 'access-control-allow-origin': '*', 'mcp-session-id': 'x', 'x-secret': '1' },
      ),
    );
    const { headers } = await client.call('tools/call', { name: 't' });
    for (const name of ['set-cookie', 'access-control-allow-origin', 'mcp-session-id', 'x-secret']) {
      expect(headers).not.toHaveProperty(name);
    }
  });
});

describe('redirects', () => {
  test.each([307, 308])('%i within the origin is followed, with method, headers and body', async (status) => {
    const calls: Script = (request, res) => answerResult(res, request, { content: [] });
    const inner = legacyScript(calls);
    const upstream = closing(
      await startScriptedServer((request, res) => {
        if (request.path !== '/mcp?moved') answer(res, status, '', { location: '?moved' });
        else return inner(request, res);
      }),
    );
    const gateway = closing(await startGateway(upstream.url));
    const headers = { authorization: 'Bearer kept' };
    const { status: got } = await callModern(gateway.url, 'tools/call', { name: 't' }, { headers });
    expect(got).toBe(200);
    const moved = upstream.requests.filter(
      ({ path, method }) => path === '/mcp?moved' && method === 'tools/call',
    );
    expect(moved).toHaveLength(1);
    expect(moved[0]?.headers['authorization']).toBe('Bearer kept');
    expect(moved[0]?.message.params.name).toBe('t');
  });

  test('one to another origin is not followed: the other origin sees nothing', async () => {
    const other = closing(await startScriptedServer(modernScript(() => undefined)));
    const upstream = closing(
      await startScriptedServer((_, res) => answer(res, 307, '', { location: other.url })),
    );
    const gateway = closing(await startGateway(upstream.url, { timeouts: TIMEOUTS }));
    const headers = { authorization: 'Bearer secret' };
    const { status, message } = await callModern(gateway.url, 'tools/call', { name: 't' }, { headers });
    expect(status).toBe(502);
    expect(message.error).toMatchObject({ code: GATEWAY_CODE.upstreamStatus });
    expect(message.error.message).toMatch(/redirect/);
    expect(JSON.stringify(message)).not.toContain('secret');
    expect(other.requests).toEqual([]);
  });
});

describe('TLS', () => {
  test('a certificate of a configured authority is accepted', async () => {
    const tls = await makeCertificate();
    const calls: Script = (request, res) =>
      answerResult(res, request, { resultType: 'complete', content: [] });
    const upstream = closing(await startScriptedServer(modernScript(calls), { tls }));
    const gateway = closing(await startGateway(upstream.url, {}, { tls: { ca: tls.cert } }));
    expect((await callModern(gateway.url, 'tools/call', { name: 't' })).status).toBe(200);
  });

  test('so is any certificate where checking is turned off', async () => {
    const calls: Script = (request, res) =>
      answerResult(res, request, { resultType: 'complete', content: [] });
    const upstream = closing(
      await startScriptedServer(modernScript(calls), { tls: await makeCertificate() }),
    );
    const gateway = closing(await startGateway(upstream.url, {}, { tls: { rejectUnauthorized: false } }));
    expect((await callModern(gateway.url, 'tools/call', { name: 't' })).status).toBe(200);
  });
});

describe('an upstream that comes back', () => {
  test('the SDK client that probes is not told that the server is legacy while it cannot be reached', async () => {
    const port = await freePort();
    const gateway = closing(
      await startGateway(`http://127.0.0.1:${port}/mcp`, { timeouts: { eraRetryMs: 1 } }),
    );
    await expect(connectModernClient(gateway.url, { mode: 'auto' })).rejects.toThrow();
    const calls: Script = (request, res) =>
      answerResult(res, request, { resultType: 'complete', content: [] });
    closing(await startScriptedServer(modernScript(calls, { tools: [] }), { port }));
    const { client } = closing(await connectModernClient(gateway.url, { mode: 'auto' }));
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
  });
});

/** A port nobody listens on. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

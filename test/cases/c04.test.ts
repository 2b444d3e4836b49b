import { describe, expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { connectLegacyClient } from '../peers/legacy-client.js';
import { connectModernClient } from '../peers/modern-client.js';
import { startGateway } from '../peers/gateway.js';
import {
  type Script,
  answer,
  answerResult,
  legacyScript,
  scriptedTool,
  startScriptedServer,
} from '../peers/scripted-server.js';
import { callModern, openWireSession } from '../peers/wire-client.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const TEXT_TYPE = { 'content-type': 'text/plain' };

const rpcError = (id: unknown, code: number, message: string): object => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
});

/** What real legacy servers answer to `server/discover`. */
const ROWS: [string, Script][] = [
  [
    '200 -32601 with the id',
    ({ message }, res) => answer(res, 200, rpcError(message.id, -32601, 'Method not found')),
  ],
  [
    '200 -32602',
    ({ message }, res) => answer(res, 200, rpcError(message.id, -32602, 'Invalid request parameters')),
  ],
  [
    '200 with an error without jsonrpc and with a null id',
    (_, res) => answer(res, 200, '{"error":{"code":-32600,"message":"Missing ID field"},"id":null}'),
  ],
  [
    '400 -32000, id null',
    (_, res) => answer(res, 400, rpcError(null, -32000, 'Bad Request: No valid session ID provided')),
  ],
  [
    '400 -32600, id "server-error"',
    (_, res) => answer(res, 400, rpcError('server-error', -32600, 'Bad Request: Missing session ID')),
  ],
  [
    '400 text/plain about the version',
    (_, res) =>
      answer(
        res,
        400,
        'Bad Request: Unsupported protocol version (supported versions: 2025-11-25)',
        TEXT_TYPE,
      ),
  ],
  [
    '400 with a code that is a string',
    (_, res) =>
      answer(res, 400, '{"error":{"code":"invalid_payload","message":"no"}}', {
        'content-type': 'application/json; charset=utf-8',
      }),
  ],
  [
    '400 text/plain with a valid JSON-RPC error',
    ({ message }, res) =>
      answer(res, 400, JSON.stringify(rpcError(message.id, -32600, 'Invalid Request')), TEXT_TYPE),
  ],
  ['404 text/plain', (_, res) => answer(res, 404, 'Invalid session ID', TEXT_TYPE)],
  ...[404, 405, 406, 415].map((status): [string, Script] => [
    `${status} empty`,
    (_, res) => answer(res, status, '', {}),
  ]),
  [
    '200 with a result that is no DiscoverResult',
    ({ message }, res) => answer(res, 200, { jsonrpc: '2.0', id: message.id, result: { tools: [] } }),
  ],
];

/** The kind around the rows: anything else in 4xx, and a 200 that is of no use. */
const SIMILAR: [string, Script][] = [
  ['200 null', (_, res) => answer(res, 200, 'null')],
  ['200 []', (_, res) => answer(res, 200, '[]')],
  ['200 empty JSON', (_, res) => answer(res, 200, '')],
  ['200 empty without a type', (_, res) => answer(res, 200, '', {})],
  ['202 empty', (_, res) => answer(res, 202, '', {})],
  ['204', (_, res) => answer(res, 204, '', {})],
  ['200 HTML', (_, res) => answer(res, 200, '<html></html>', { 'content-type': 'text/html' })],
  ['200 text/plain', (_, res) => answer(res, 200, 'ok', TEXT_TYPE)],
  ['200 JSON cut short', (_, res) => answer(res, 200, '{"jsonrpc":"2.0","id":')],
  [
    '200 with -32601 on a stream',
    ({ message }, res) =>
      answer(res, 200, `data: ${JSON.stringify(rpcError(message.id, -32601, 'Method not found'))}\n\n`, {
        'content-type': 'text/event-stream',
      }),
  ],
  ['400 empty', (_, res) => answer(res, 400, '', {})],
  ['400 with a JSON string', (_, res) => answer(res, 400, '"Bad Request"', JSON_TYPE)],
  ['400 -32601 in an array', (_, res) => answer(res, 400, [rpcError(null, -32601, 'no')])],
  [
    '400 -32002 not initialised',
    (_, res) => answer(res, 400, rpcError(null, -32002, 'Server not initialized')),
  ],
  ['404 -32601', ({ message }, res) => answer(res, 404, rpcError(message.id, -32601, 'Method not found'))],
  ['404 HTML', (_, res) => answer(res, 404, '<h1>Not Found</h1>', { 'content-type': 'text/html' })],
  ['410 empty', (_, res) => answer(res, 410, '', {})],
  ['422 with a validation report', (_, res) => answer(res, 422, { detail: [{ loc: ['body', 'method'] }] })],
  [
    '200 with an error whose error is a string',
    ({ message }, res) => answer(res, 200, { jsonrpc: '2.0', id: message.id, error: 'unknown method' }),
  ],
  [
    '200 with capabilities but without versions',
    ({ message }, res) => answer(res, 200, { jsonrpc: '2.0', id: message.id, result: { capabilities: {} } }),
  ],
  [
    '200 with versions that are no array',
    ({ message }, res) =>
      answer(res, 200, {
        jsonrpc: '2.0',
        id: message.id,
        result: { supportedVersions: '2026-07-28', capabilities: {} },
      }),
  ],
];

const calls: Script = (request, res) => {
  if (request.method === 'tools/list') answerResult(res, request, { tools: [scriptedTool('t')] });
  else answerResult(res, request, { content: [{ type: 'text', text: 'ran' }] });
};

async function started(discover: Script) {
  const upstream = closing(await startScriptedServer(legacyScript(calls, { discover })));
  return { upstream, gateway: closing(await startGateway(upstream.url)) };
}

describe.each([...ROWS, ...SIMILAR])('C4 discover is answered with %s', (_, discover) => {
  test('C4 the legacy client that caused the probe is served', async () => {
    const { upstream, gateway } = await started(discover);
    const session = await openWireSession(gateway.url);
    expect(session.initialize.result.serverInfo.name).toBe('scripted-legacy');
    const { status, message } = await session.call('tools/call', { name: 't' });
    expect(status).toBe(200);
    expect(message.result.content[0].text).toBe('ran');
    expect(gateway.verdict('default')?.era).toBe('legacy');
    expect(upstream.requestsFor('server/discover')).toHaveLength(1);
    expect(upstream.requestsFor('initialize')).toHaveLength(1);
  });

  test('C4 the modern client that caused the probe is served', async () => {
    const { upstream, gateway } = await started(discover);
    const call = await callModern(gateway.url, 'tools/call', { name: 't' });
    expect(call.status).toBe(200);
    expect(call.message.result).toMatchObject({ resultType: 'complete', content: [{ text: 'ran' }] });
    const described = await callModern(gateway.url, 'server/discover');
    expect(described.message.result.supportedVersions).toContain('2026-07-28');
    expect(described.message.result._meta['io.modelcontextprotocol/serverInfo'].name).toBe('scripted-legacy');
    expect(gateway.verdict('default')?.era).toBe('legacy');
    expect(upstream.requestsFor('server/discover')).toHaveLength(1);
    expect(upstream.requestsFor('initialize')).toHaveLength(1);
  });
});

describe('C4 with the clients of both SDKs', () => {
  test.each(ROWS)('C4 discover is answered with %s', async (_, discover) => {
    const { gateway } = await started(discover);
    const legacy = closing(await connectLegacyClient(gateway.url));
    expect((await legacy.client.listTools()).tools).toHaveLength(1);
    const modern = closing(await connectModernClient(gateway.url));
    expect((await modern.client.listTools()).tools).toHaveLength(1);
  });
});

describe('C4 what is no evidence', () => {
  const silent: [string, number, Script][] = [
    ...[500, 502, 503, 429].map((status): [string, number, Script] => [
      String(status),
      -31005,
      (_, res) => answer(res, status, '', {}),
    ]),
    [
      '200 and a stream that ends without a word',
      -31003,
      (_, res) => answer(res, 200, ': hi\n\n', { 'content-type': 'text/event-stream' }),
    ],
    ['by closing the connection', -31003, (_, res) => res.destroy()],
  ];

  test.each(silent)(
    'C4 discover answered %s decides nothing, and is asked again',
    async (_, code, discover) => {
      const upstream = closing(await startScriptedServer(legacyScript(calls, { discover })));
      const gateway = closing(await startGateway(upstream.url, { timeouts: { eraRetryMs: 1 } }));
      const failed = await callModern(gateway.url, 'tools/call', { name: 't' }, { id: 'x' });
      expect(failed.status).toBeGreaterThanOrEqual(429);
      expect(failed.message).toMatchObject({ id: 'x', error: { code } });
      expect(gateway.verdict('default')).toBeUndefined();
      expect(upstream.requestsFor('initialize')).toEqual([]);

      upstream.become(legacyScript(calls));
      // The pause before the next probe is 1 ms here.
      await expect
        .poll(async () => (await callModern(gateway.url, 'tools/call', { name: 't' })).status)
        .toBe(200);
      expect(gateway.verdict('default')?.era).toBe('legacy');
    },
  );

  test('C4 a discover that is refused for its credential leads to initialize, once', async () => {
    const upstream = closing(
      await startScriptedServer(
        legacyScript(calls, { discover: (_, res) => answer(res, 401, '', { 'www-authenticate': 'Bearer' }) }),
      ),
    );
    const gateway = closing(await startGateway(upstream.url));
    const headers = { authorization: 'Bearer a' };
    const { status } = await callModern(gateway.url, 'tools/call', { name: 't' }, { headers });
    expect(status).toBe(200);
    expect(upstream.requestsFor('initialize')).toHaveLength(1);
    expect(gateway.verdict('default')?.era).toBe('legacy');
  });
});

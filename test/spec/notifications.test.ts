import { describe, expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { sendRaw } from '../peers/raw-client.js';
import { answerResult, legacyScript, modernScript, startScriptedServer } from '../peers/scripted-server.js';
import { KEY, MODERN, POST_HEADERS, callModern, modernMeta } from '../peers/wire-client.js';

/** A gateway in front of a scripted server of that era. */
async function started(era: 'legacy' | 'modern') {
  const script = era === 'legacy' ? legacyScript : modernScript;
  const upstream = closing(await startScriptedServer(script((request, res) => answerResult(res, request))));
  const gateway = closing(await startGateway(upstream.url));
  return { upstream, url: gateway.url };
}

/** Posts a modern notification with these headers, and the reserved keys changed in this way. */
function post(url: string, method: string, headers: Record<string, string>, meta: object = {}) {
  const body = JSON.stringify({ jsonrpc: '2.0', method, params: { _meta: { ...modernMeta(), ...meta } } });
  return sendRaw(url, { headers: { ...POST_HEADERS, ...headers }, body });
}

const HEADERS = { 'mcp-protocol-version': MODERN, 'mcp-method': 'notifications/vendor' };

// "If the server cannot accept it, it MUST return an HTTP error status code": what headers and body say twice must be
// the same for notifications, too. Which headers they need is not specified.
// @see /specification/2026-07-28/basic/transports/streamable-http#sending-messages
describe.each(['legacy', 'modern'] as const)('X32 a modern notification, %s upstream', (era) => {
  test.each([
    ['with all headers', HEADERS],
    ['without Mcp-Method', { 'mcp-protocol-version': MODERN }],
    ['without headers', {}],
  ])('X32 %s: 202 and no body', async (_, headers) => {
    const { url } = await started(era);
    const response = await post(url, 'notifications/vendor', headers);
    expect([response.status, await response.text()]).toEqual([202, '']);
    expect(response.headers['content-type']).toBeUndefined();
  });

  test.each([
    ['another version in the header', { ...HEADERS, 'mcp-protocol-version': '2025-11-25' }, {}, -32020],
    ['another Mcp-Method', { ...HEADERS, 'mcp-method': 'notifications/cancelled' }, {}, -32020],
    [
      'a version nobody serves',
      { ...HEADERS, 'mcp-protocol-version': '2027-01-01' },
      { [KEY.protocolVersion]: '2027-01-01' },
      -32022,
    ],
    ['a version that is no string', HEADERS, { [KEY.protocolVersion]: 42 }, -32602],
  ])('X6 %s: 400, an error without id, and nothing goes upstream', async (_, headers, meta, code) => {
    const { upstream, url } = await started(era);
    const response = await post(url, 'notifications/vendor', headers, meta);
    const error = await response.rpc();
    expect([response.status, error.error.code]).toEqual([400, code]);
    expect(error).not.toHaveProperty('id');
    await callModern(url, 'tools/list');
    expect(upstream.requestsFor('notifications/vendor')).toEqual([]);
  });
});

test('X32 a modern client does not speak for the legacy session it shares', async () => {
  const { upstream, url } = await started('legacy');
  await callModern(url, 'tools/list');
  for (const method of ['notifications/initialized', 'notifications/progress', 'notifications/vendor']) {
    expect((await post(url, method, { 'mcp-protocol-version': MODERN })).status).toBe(202);
  }
  await expect.poll(() => upstream.requestsFor('notifications/vendor')).toHaveLength(1);
  expect(upstream.requestsFor('notifications/initialized')).toHaveLength(1);
  expect(upstream.requestsFor('notifications/progress')).toEqual([]);
});

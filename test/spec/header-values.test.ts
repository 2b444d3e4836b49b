import { describe, expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { sendRaw } from '../peers/raw-client.js';
import {
  answerResult,
  legacyScript,
  modernScript,
  scriptedTool,
  startScriptedServer,
} from '../peers/scripted-server.js';
import { LEGACY_REVISIONS, MODERN, callModern, modernText, postModern } from '../peers/wire-client.js';

const encoded = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`;

// @see /specification/2026-07-28/basic/transports/streamable-http#server-validation
describe('X6 the encoding of header values', () => {
  test.each(['legacy', 'modern'] as const)(
    'X6 an encoded Mcp-Method hides the method from whoever filters by it: 400 -32020, %s upstream',
    async (era) => {
      const script = era === 'legacy' ? legacyScript : modernScript;
      const upstream = closing(
        await startScriptedServer(script((request, res) => answerResult(res, request))),
      );
      const gateway = closing(await startGateway(upstream.url));
      const body = modernText(1, 'tools/call', { name: 'tool' });
      const response = await postModern(gateway.url, body, { 'mcp-method': encoded('tools/call') });
      expect(await response.rpc()).toMatchObject({ id: 1, error: { code: -32020 } });
      expect(response.status).toBe(400);
      expect(upstream.requestsFor('tools/call')).toEqual([]);
    },
  );

  test('X6 a method no header can carry as it is comes encoded, and goes on encoded', async () => {
    const upstream = closing(
      await startScriptedServer(modernScript((request, res) => answerResult(res, request))),
    );
    const gateway = closing(await startGateway(upstream.url));
    const method = 'händler/frage';
    const body = modernText(1, method);
    const response = await postModern(gateway.url, body, { 'mcp-method': encoded(method) });
    expect(await response.rpc()).toHaveProperty('result');
    expect(upstream.requestsFor(method)[0]?.headers['mcp-method']).toBe(encoded(method));
  });

  test.each(['tools/call', 'prompts/get', 'resources/read'])(
    'X6 %s without Mcp-Name is refused for that, even when its body has none either: 400 -32020',
    async (method) => {
      const upstream = closing(
        await startScriptedServer(legacyScript((request, res) => answerResult(res, request))),
      );
      const gateway = closing(await startGateway(upstream.url));
      const response = await postModern(gateway.url, modernText(1, method));
      expect(response.status).toBe(400);
      expect(await response.rpc()).toMatchObject({ id: 1, error: { code: -32020 } });
      expect(upstream.requestsFor(method)).toEqual([]);
    },
  );

  test('X6 an encoded Mcp-Name is decoded before it is compared', async () => {
    const upstream = closing(
      await startScriptedServer(legacyScript((request, res) => answerResult(res, request))),
    );
    const gateway = closing(await startGateway(upstream.url));
    const body = modernText(1, 'tools/call', { name: 'tool' });
    const call = async (name: string) =>
      (await postModern(gateway.url, body, { 'mcp-name': encoded(name) })).status;
    expect([await call('tool'), await call('other')]).toEqual([200, 400]);
  });
});

describe('X7 a Mcp-Param header with bytes beyond ASCII', () => {
  const tool = scriptedTool('tool', {
    inputSchema: { type: 'object', properties: { city: { type: 'string', 'x-mcp-header': 'City' } } },
  });

  test.each([
    ['with the argument', { city: 'Köln' }],
    ['without it', {}],
  ])('X7 a recognised one, %s: 400 -32020', async (_, args) => {
    const upstream = closing(
      await startScriptedServer(
        legacyScript((request, res) =>
          answerResult(res, request, request.method === 'tools/list' ? { tools: [tool] } : { content: [] }),
        ),
      ),
    );
    const gateway = closing(await startGateway(upstream.url));
    const body = modernText(1, 'tools/call', { name: 'tool', arguments: args });
    const response = await postModern(gateway.url, body, { 'mcp-param-city': 'K\xf6ln' });
    expect(await response.rpc()).toMatchObject({ error: { code: -32020 } });
    expect(response.status).toBe(400);
    expect(upstream.requestsFor('tools/call')).toEqual([]);
  });

  test('X7 one that nobody here recognises is forwarded where it can be', async () => {
    const upstream = closing(
      await startScriptedServer(modernScript((request, res) => answerResult(res, request))),
    );
    const gateway = closing(await startGateway(upstream.url));
    const headers = { 'mcp-param-city': 'K\xf6ln', 'mcp-param-mayor': encoded('Köln') };
    expect((await callModern(gateway.url, 'tools/call', { name: 'tool' }, { headers })).status).toBe(200);
    const { headers: forwarded } = upstream.requestsFor('tools/call')[0] ?? {};
    expect(forwarded).toHaveProperty('mcp-param-mayor', headers['mcp-param-mayor']);
    // In other bytes it would be another value; without it, the server that recognises it says so.
    expect(forwarded).not.toHaveProperty('mcp-param-city');
  });
});

describe('X13 a version in the header alone', () => {
  test('X13 one that nobody serves is named, with those that are: 400 -32022', async () => {
    const upstream = closing(await startScriptedServer(legacyScript(() => undefined)));
    const gateway = closing(await startGateway(upstream.url));
    const body = '{"jsonrpc":"2.0","id":"a","method":"tools/list"}';
    const headers = {
      'content-type': 'application/json',
      accept: '*/*',
      'mcp-protocol-version': '2027-01-01',
    };
    const response = await sendRaw(gateway.url, { headers, body });
    expect(response.status).toBe(400);
    expect(await response.rpc()).toMatchObject({
      id: 'a',
      error: { code: -32022, data: { supported: [MODERN, ...LEGACY_REVISIONS], requested: '2027-01-01' } },
    });
  });
});

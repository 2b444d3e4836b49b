import { describe, expect, test } from 'vitest';
import { ERAS, startPeer, startScript } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { connectModernClient } from '../peers/modern-client.js';
import { type Script, answerResult, scriptedTool } from '../peers/scripted-server.js';
import { callModern, KEY, openWireSession } from '../peers/wire-client.js';

const CAPABILITIES = { tools: {}, prompts: {}, resources: {}, completions: {} };

/** A result of each method the eras share, without era vocabulary. */
const RESULTS: Record<string, Record<string, unknown>> = {
  'tools/list': { tools: [scriptedTool('t')] },
  'prompts/list': { prompts: [{ name: 'p' }] },
  'resources/list': { resources: [{ uri: 'test://r', name: 'r' }] },
  'resources/templates/list': { resourceTemplates: [{ uriTemplate: 'test://{id}', name: 'r' }] },
  'resources/read': { contents: [{ uri: 'test://r', text: 'r' }] },
  'tools/call': { content: [{ type: 'text', text: 't' }] },
  'prompts/get': { messages: [] },
  'completion/complete': { completion: { values: [] } },
};

const CACHEABLE = [
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
];

const PARAMS: Record<string, Record<string, unknown>> = {
  'resources/read': { uri: 'test://r' },
  'tools/call': { name: 't' },
  'prompts/get': { name: 'p' },
  'completion/complete': { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } },
};

const plain: Script = (request, res) => answerResult(res, request, RESULTS[request.method ?? ''] ?? {});

/** A modern server that says era things, and says the same words where they are payload. */
const worded: Script = (request, res) =>
  answerResult(res, request, {
    resultType: 'complete',
    ttlMs: 60_000,
    cacheScope: 'public',
    ...RESULTS[request.method ?? ''],
    _meta: {
      [KEY.serverInfo]: { name: 's', version: '1' },
      'example.com/k': { resultType: 'mine', ttlMs: 1 },
    },
    ...(request.method === 'tools/call' && {
      structuredContent: { ttlMs: 5, cacheScope: 'public', resultType: 'x', nested: { ttlMs: 6 } },
    }),
  });

describe('C13 a legacy upstream towards a modern client', () => {
  test.each(Object.keys(RESULTS))(
    'C13 %s has what the modern era requires, and all it had',
    async (method) => {
      const upstream = closing(await startScript('legacy', plain, { capabilities: CAPABILITIES }));
      const gateway = closing(await startGateway(upstream.url));
      const { status, message } = await callModern(gateway.url, method, PARAMS[method]);
      expect(status).toBe(200);
      expect(message.result).toMatchObject({ resultType: 'complete', ...RESULTS[method] });
      expect(message.result._meta[KEY.serverInfo]).toEqual({ name: 'scripted-legacy', version: '1' });
      if (CACHEABLE.includes(method)) {
        expect(message.result).toMatchObject({ ttlMs: 0, cacheScope: 'private' });
      } else {
        expect(message.result).not.toHaveProperty('ttlMs');
        expect(message.result).not.toHaveProperty('cacheScope');
      }
    },
  );

  test('C13 an empty result, and a vendor one, get a resultType too', async () => {
    const upstream = closing(await startScript('legacy', (request, res) => answerResult(res, request)));
    const gateway = closing(await startGateway(upstream.url));
    const { message } = await callModern(gateway.url, 'vendor/thing');
    expect(message.result.resultType).toBe('complete');
  });

  test('C13 what a legacy upstream happens to call resultType does not decide', async () => {
    const upstream = closing(
      await startScript('legacy', (request, res) =>
        answerResult(res, request, { ...RESULTS['tools/list'], resultType: 'input_required', ttlMs: 'soon' }),
      ),
    );
    const gateway = closing(await startGateway(upstream.url));
    const { message } = await callModern(gateway.url, 'tools/list');
    expect(message.result).toMatchObject({ resultType: 'complete', ttlMs: 0, cacheScope: 'private' });
    expect(message.result.tools).toHaveLength(1);
  });

  test('C13 the SDK client of the modern era sees every tool', async () => {
    const upstream = closing(await startPeer('legacy'));
    const gateway = closing(await startGateway(upstream.url));
    const { client } = closing(await connectModernClient(gateway.url));
    const { tools } = await client.listTools();
    expect(tools.length).toBeGreaterThan(30);
    expect(tools.map(({ name }) => name)).toContain('probe_echo');
  });
});

describe('C13 a modern upstream towards a legacy client', () => {
  test.each(Object.keys(RESULTS))('C13 %s has nothing of the modern era at result level', async (method) => {
    const upstream = closing(await startScript('modern', worded, { capabilities: CAPABILITIES }));
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    const { status, message } = await session.call(method, PARAMS[method]);
    expect(status).toBe(200);
    expect(message.result).toMatchObject(RESULTS[method] ?? {});
    for (const key of ['resultType', 'ttlMs', 'cacheScope']) expect(message.result).not.toHaveProperty(key);
    expect(message.result._meta).toEqual({ 'example.com/k': { resultType: 'mine', ttlMs: 1 } });
  });

  test("C13 the tool's own ttlMs, cacheScope and resultType stay", async () => {
    const upstream = closing(await startScript('modern', worded, { tools: [scriptedTool('t')] }));
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    const { message } = await session.call('tools/call', { name: 't' });
    expect(message.result.structuredContent).toEqual({
      ttlMs: 5,
      cacheScope: 'public',
      resultType: 'x',
      nested: { ttlMs: 6 },
    });
  });

  test("C13 a vendor's own ttlMs stays, and an unknown resultType is an error instead of a wrong result", async () => {
    const script: Script = (request, res) =>
      answerResult(res, request, { resultType: request.message.params.type, ttlMs: 9 });
    const upstream = closing(await startScript('modern', script));
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    const known = await session.call('vendor/thing', { type: 'complete' });
    expect(known.message.result).toEqual({ ttlMs: 9 });
    const unknown = await session.call('vendor/thing', { type: 'vendor-type' }, 'u');
    expect(unknown.message).toMatchObject({ id: 'u', error: { code: -31008 } });
    expect(unknown.message.error.message).toContain('vendor-type');
  });
});

describe.each(ERAS)('C13 the same era on both sides, %s', (era) => {
  test('C13 nothing is added and nothing is taken', async () => {
    const result = {
      tools: [scriptedTool('t')],
      resultType: 'complete',
      ttlMs: 7,
      cacheScope: 'public',
      x: 1,
    };
    const upstream = closing(await startScript(era, (request, res) => answerResult(res, request, result)));
    const gateway = closing(await startGateway(upstream.url));
    const { message } =
      era === 'modern'
        ? await callModern(gateway.url, 'tools/list')
        : await (await openWireSession(gateway.url)).call('tools/list');
    expect(message).toEqual({ jsonrpc: '2.0', id: 1, result });
  });
});

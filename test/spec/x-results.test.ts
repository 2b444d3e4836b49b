import { describe, expect, test } from 'vitest';
import { CELLS, startPeer, startScript } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { startLegacyServer } from '../peers/legacy-server.js';
import { startModernServer } from '../peers/modern-server.js';
import { connectLegacyClient } from '../peers/legacy-client.js';
import {
  type Script,
  answerResult,
  answerRpcError,
  openStream,
  progressFor,
  resultText,
  scriptedTool,
} from '../peers/scripted-server.js';
import {
  KEY,
  LEGACY_REVISIONS,
  callModern,
  openWireClient,
  openWireSession,
  requestText,
} from '../peers/wire-client.js';

/** Answers every call with this result. */
const always =
  (result: object): Script =>
  (request, res) =>
    answerResult(res, request, result);

/** A legacy session in front of a modern upstream that answers so. */
async function legacyToModern(script: Script, options: { revision?: string; tools?: object[] } = {}) {
  const upstream = closing(
    await startScript('modern', script, options.tools ? { tools: options.tools } : {}),
  );
  const gateway = closing(await startGateway(upstream.url));
  const session = await openWireSession(gateway.url, options.revision ? { revision: options.revision } : {});
  return { upstream, session };
}

/** A modern client in front of a legacy upstream that answers so. */
async function modernToLegacy(script: Script) {
  const upstream = closing(await startScript('legacy', script));
  const gateway = closing(await startGateway(upstream.url));
  const call = (method: string, params: Record<string, unknown> = {}, id: string | number = 1) =>
    callModern(gateway.url, method, params, { id });
  return { upstream, call };
}

describe('X8 resultType', () => {
  test.each(['tools/call', 'prompts/get', 'completion/complete', 'vendor/thing'])(
    'X8 to a legacy client: removed from %s',
    async (method) => {
      const { session } = await legacyToModern(always({ resultType: 'complete', a: 1 }), { tools: [] });
      const { message } = await session.call(method, { name: 'x' });
      expect(message.result).toEqual({ a: 1 });
    },
  );

  test.each<[string, unknown]>([
    ['an unknown word', 'streamed'],
    ['task, which the client has no way to read', 'task'],
    ['no string', 7],
    ['null', null],
  ])('X8 to a legacy client: %s is an error, not a result', async (_, resultType) => {
    const { session } = await legacyToModern(always({ resultType, content: [] }), { tools: [] });
    const { status, message } = await session.call('tools/call', { name: 't' }, 'u');
    expect(status).toBe(200);
    expect(message).toMatchObject({ id: 'u', error: { code: -31008 } });
  });

  test('X8 to a legacy client: input_required never reaches it, not even from a method that must not ask', async () => {
    const required = {
      resultType: 'input_required',
      inputRequests: { a: { method: 'elicitation/create', params: { message: 'm' } } },
    };
    const { session } = await legacyToModern(always(required), { tools: [] });
    for (const method of ['tools/call', 'prompts/list']) {
      const response = await session.request(1, method, { name: 't' });
      expect((await response.rpc()).error.code).toBeLessThan(-31000);
      expect(response.received).not.toContain('input_required');
    }
  });

  test.each<[string, object]>([
    ['an empty result', {}],
    ['a result with a _meta', { _meta: { a: 1 } }],
    ['a result that calls itself otherwise', { resultType: 'input_required', inputRequests: {} }],
  ])('X8 to a modern client: complete is added to %s', async (_, result) => {
    const { call } = await modernToLegacy(always(result));
    const { status, message } = await call('tools/call', { name: 't' });
    expect(status).toBe(200);
    expect(message.result).toMatchObject({ ...result, resultType: 'complete' });
  });
});

describe('X9 ttlMs and cacheScope', () => {
  const CACHEABLE = [
    'tools/list',
    'prompts/list',
    'resources/list',
    'resources/templates/list',
    'resources/read',
  ];

  test.each(CACHEABLE)('X9 to a legacy client: removed from %s, at result level only', async (method) => {
    const inner = { ttlMs: 1, cacheScope: 'public' };
    const { session } = await legacyToModern(
      always({ resultType: 'complete', ttlMs: 5000, cacheScope: 'public', inner, _meta: { inner } }),
    );
    const { message } = await session.call(method, { uri: 'test://x' });
    expect(message.result).toEqual({ inner, _meta: { inner } });
  });

  test.each([...CACHEABLE, 'server/discover'])(
    'X9 to a modern client: added to %s, cautiously',
    async (method) => {
      const { call } = await modernToLegacy(always({}));
      const { message } = await call(method, { uri: 'test://x' });
      expect(message.result).toMatchObject({ ttlMs: 0, cacheScope: 'private' });
    },
  );

  test.each<[unknown, unknown]>([
    [-5, 'shared'],
    ['60000', 'PUBLIC'],
    [null, null],
  ])(
    'X9 to a modern client: the nonsense %j and %j of a legacy server is replaced',
    async (ttlMs, cacheScope) => {
      const { call } = await modernToLegacy(always({ tools: [], ttlMs, cacheScope }));
      expect((await call('tools/list')).message.result).toMatchObject({ ttlMs: 0, cacheScope: 'private' });
    },
  );

  test('X9 to a modern client: not added to what is not cacheable', async () => {
    const { call } = await modernToLegacy(always({ content: [] }));
    const { message } = await call('tools/call', { name: 't' });
    expect(Object.keys(message.result).sort()).toEqual(['_meta', 'content', 'resultType']);
  });
});

describe('X10 structuredContent and outputSchema', () => {
  test('X10 to a legacy client: wrapped in an object, in the list and in the result', async () => {
    const upstream = closing(await startModernServer());
    const gateway = closing(await startGateway(upstream.url));
    const { client } = closing(await connectLegacyClient(gateway.url));
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'probe_array')?.outputSchema).toMatchObject({
      type: 'object',
      properties: { result: { type: 'array', items: { type: 'integer' } } },
      required: ['result'],
    });
    const result = await client.callTool({ name: 'probe_array', arguments: { n: 2 } });
    expect(result.structuredContent).toEqual({ result: [0, 1] });
  });

  test('X10 to a legacy client: references inside the schema still resolve', async () => {
    const outputSchema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'array',
      items: { $ref: '#/$defs/item' },
      $defs: { item: { type: 'string' } },
    };
    const { session } = await legacyToModern(always({}), { tools: [scriptedTool('t', { outputSchema })] });
    const { message } = await session.call('tools/list');
    const [tool] = message.result.tools;
    expect(tool.outputSchema.$schema).toBe(outputSchema.$schema);
    expect(tool.outputSchema.properties.result).toMatchObject({
      $id: expect.stringMatching(/./),
      items: { $ref: '#/$defs/item' },
      $defs: { item: { type: 'string' } },
    });
  });

  test('X10 to a modern client: passes', async () => {
    const outputSchema = { type: 'object', properties: { a: { type: 'integer' } } };
    const { call } = await modernToLegacy((request, res) =>
      answerResult(
        res,
        request,
        request.method === 'tools/list'
          ? { tools: [scriptedTool('t', { outputSchema })] }
          : { content: [], structuredContent: { a: 1 } },
      ),
    );
    expect((await call('tools/list')).message.result.tools[0].outputSchema).toEqual(outputSchema);
    expect((await call('tools/call', { name: 't' })).message.result.structuredContent).toEqual({ a: 1 });
  });
});

describe('X11 fields of a tool', () => {
  const tools = [
    scriptedTool('optional', { execution: { taskSupport: 'optional' } }),
    scriptedTool('forbidden', { execution: { taskSupport: 'forbidden', other: 1 } }),
    scriptedTool('plain', {
      title: 'Plain',
      annotations: { readOnlyHint: true },
      icons: [],
      future: { a: 1 },
    }),
  ];

  test('X11 to a modern client: execution.taskSupport is not leaked, everything else stays', async () => {
    const { call } = await modernToLegacy(always({ tools }));
    expect((await call('tools/list')).message.result.tools).toEqual([
      scriptedTool('optional'),
      scriptedTool('forbidden', { execution: { other: 1 } }),
      tools[2],
    ]);
  });

  test('X11 to a legacy client: no task support is claimed that nobody gives', async () => {
    const { session } = await legacyToModern(always({}), { tools });
    const { message } = await session.call('tools/list');
    expect(JSON.stringify(message.result.tools)).not.toContain('taskSupport');
    expect(message.result.tools[2]).toEqual(tools[2]);
  });
});

describe('X12 a resource that is not found', () => {
  const failing =
    (code: number, data?: unknown): Script =>
    (request, res) =>
      answerRpcError(res, request, 200, code, 'Resource not found', data);

  test('X12 to a legacy client: -32602 with a uri becomes -32002', async () => {
    const data = { uri: 'test://gone', extra: [1] };
    const { session } = await legacyToModern(failing(-32602, data));
    const { status, message } = await session.call('resources/read', { uri: 'test://gone' }, 'r');
    expect(status).toBe(200);
    expect(message).toEqual({
      jsonrpc: '2.0',
      id: 'r',
      error: { code: -32002, message: 'Resource not found', data },
    });
  });

  test.each<[string, string, unknown]>([
    ['without a uri', 'resources/read', { reason: 'bad' }],
    ['without data', 'resources/read', undefined],
    ['of another method', 'prompts/get', { uri: 'test://gone' }],
  ])('X12 to a legacy client: -32602 %s stays', async (_, method, data) => {
    const { session } = await legacyToModern(failing(-32602, data));
    expect((await session.call(method, { uri: 'x', name: 'x' })).message.error.code).toBe(-32602);
  });

  test('X12 to a modern client: -32002 becomes -32602, on resources/read only', async () => {
    const { call } = await modernToLegacy(failing(-32002, { uri: 'test://gone' }));
    const read = await call('resources/read', { uri: 'test://gone' }, 'r');
    expect(read.message).toMatchObject({
      id: 'r',
      error: { code: -32602, message: 'Resource not found', data: { uri: 'test://gone' } },
    });
    const other = await call('prompts/list');
    expect(other.message.error).toMatchObject({
      code: -32603,
      data: { upstreamError: { code: -32002 } },
    });
  });

  test('X12 with the real peers', async () => {
    for (const { client, upstream: era } of CELLS) {
      const upstream = closing(await startPeer(era));
      const gateway = closing(await startGateway(upstream.url));
      const wire = await openWireClient(client, gateway.url);
      const { message } = await wire.call('resources/read', { uri: 'test://gone' });
      expect(message.error).toMatchObject({
        code: client === 'legacy' ? -32002 : -32602,
        data: { uri: 'test://gone' },
      });
    }
  });
});

describe('X13 errors of one era only', () => {
  test.each<[number, object | undefined, RegExp]>([
    [-32020, undefined, /headers do not match/],
    [
      -32021,
      { requiredCapabilities: { elicitation: { url: {} }, sampling: {} } },
      /elicitation\.url, sampling/,
    ],
    [-32022, { supported: ['2031-01-01', '2026-07-28'] }, /2031-01-01/],
    [-32042, undefined, /scripted/],
    [-32099, { a: 1 }, /scripted/],
  ])('X13 to a legacy client: %i is told in words, the original in data', async (code, data, words) => {
    const { session } = await legacyToModern((request, res) =>
      answerRpcError(res, request, 400, code, 'scripted', data),
    );
    const { status, message } = await session.call('prompts/get', { name: 'p' }, 'e');
    expect(status).toBe(200);
    expect(message).toMatchObject({
      id: 'e',
      error: { code: -32603, data: { upstreamError: { code, message: 'scripted', ...(data && { data }) } } },
    });
    expect(message.error.message).toMatch(words);
  });

  test.each([-32020, -32021, -32022, -32050, -32099])(
    'X13 to a modern client: %i of a legacy server, where it means something else, becomes -32603',
    async (code) => {
      const { call } = await modernToLegacy((request, res) =>
        answerRpcError(res, request, 200, code, 'mine', { a: 1 }),
      );
      const { status, message } = await call('prompts/list', {}, 'e');
      expect(status).toBe(200);
      expect(message).toMatchObject({
        id: 'e',
        error: { code: -32603, message: 'mine', data: { upstreamError: { code, data: { a: 1 } } } },
      });
    },
  );

  test.each([-32000, -32001, -32019, -32100, -32603, 1, -1])(
    'X13 in both directions: %i passes with its message and data',
    async (code) => {
      const script: Script = (request, res) => answerRpcError(res, request, 200, code, 'own', { a: [1] });
      const error = { code, message: 'own', data: { a: [1] } };
      const { session } = await legacyToModern(script);
      expect((await session.call('prompts/list')).message.error).toEqual(error);
      const { call } = await modernToLegacy(script);
      expect((await call('prompts/list')).message.error).toEqual(error);
    },
  );

  test('X13 an unknown method: HTTP 404 to a modern client, 200 inside a legacy session', async () => {
    for (const { client, upstream: era } of CELLS) {
      const upstream = closing(await startPeer(era));
      const gateway = closing(await startGateway(upstream.url));
      const wire = await openWireClient(client, gateway.url);
      const { status, message } = await wire.call('no/such', {}, { id: 0 });
      expect([status, message.id, message.error.code]).toEqual([client === 'legacy' ? 200 : 404, 0, -32601]);
    }
  });
});

describe.each(CELLS)('X14 pagination, completion, prompts, templates, $cell', (cell) => {
  test('X14 params and results pass as they are', async () => {
    const upstream = closing(
      await startScript(
        cell.upstream,
        (request, res) => {
          const { _meta: _own, ...params } = request.message.params;
          answerResult(res, request, { resultType: 'complete', echo: params, nextCursor: 'c"ü' });
        },
        { capabilities: { prompts: {}, completions: {}, resources: {} } },
      ),
    );
    const gateway = closing(await startGateway(upstream.url));
    const client = await openWireClient(cell.client, gateway.url);
    const requests: [string, Record<string, unknown>][] = [
      ['prompts/list', { cursor: 'c"ü', future: 1 }],
      ['resources/templates/list', { cursor: '' }],
      ['prompts/get', { name: 'p', arguments: { a: 'b' } }],
      [
        'completion/complete',
        {
          ref: { type: 'ref/resource', uri: 'test://{x}' },
          argument: { name: 'x', value: '' },
          context: { arguments: { y: 'z' } },
        },
      ],
    ];
    for (const [method, params] of requests) {
      const { message } = await client.call(method, params);
      expect(message.result).toMatchObject({ echo: params, nextCursor: 'c"ü' });
    }
  });
});

describe('X15 the steps between legacy revisions', () => {
  const content = [
    { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' },
    { type: 'resource_link', uri: 'test://a', name: 'A' },
    { type: 'text', text: 'plain' },
  ];

  test.each(LEGACY_REVISIONS)(
    'X15 a %s client of a modern upstream: content its revision knows',
    async (revision) => {
      const { session } = await legacyToModern(always({ resultType: 'complete', content }), {
        revision,
        tools: [],
      });
      const { message } = await session.call('tools/call', { name: 't' });
      const kinds = message.result.content.map(({ type }: any) => type);
      const audio = revision === '2024-11-05' ? 'text' : 'audio';
      const link = revision === '2024-11-05' || revision === '2025-03-26' ? 'text' : 'resource_link';
      expect(kinds).toEqual([audio, link, 'text']);
      if (link === 'text') expect(message.result.content[1].text).toContain('test://a');
      if (audio === 'text') expect(message.result.content[0].text).toContain('audio/wav');
    },
  );

  test.each(LEGACY_REVISIONS)('X15 a %s client is declared with what its revision has', async (revision) => {
    const upstream = closing(await startScript('modern', always({ resultType: 'complete' }), { tools: [] }));
    const gateway = closing(await startGateway(upstream.url));
    const capabilities = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
    const session = await openWireSession(gateway.url, { revision, capabilities });
    await session.call('prompts/list');
    const declared = upstream.requestsFor('prompts/list')[0]?.message.params._meta[KEY.clientCapabilities];
    expect(declared).toEqual(
      {
        '2025-11-25': capabilities,
        '2025-06-18': { elicitation: { form: {} }, sampling: {}, roots: {} },
        '2025-03-26': { sampling: {}, roots: {} },
        '2024-11-05': { sampling: {}, roots: {} },
      }[revision],
    );
  });

  test('X15 a batch of a 2025-03-26 client: one array back, notifications taken', async () => {
    for (const era of ['legacy', 'modern'] as const) {
      const upstream = closing(await startPeer(era));
      const gateway = closing(await startGateway(upstream.url));
      const session = await openWireSession(gateway.url, { revision: '2025-03-26' });
      const batch = [
        requestText(1, 'ping'),
        requestText('1', 'prompts/list'),
        '{"jsonrpc":"2.0","method":"notifications/vendor/x"}',
        requestText(2, 'no/such-method'),
      ];
      const response = await session.post(`[${batch.join(',')}]`);
      expect(response.status).toBe(200);
      const answers = response.isStream
        ? await response.text().then(() => response.messages)
        : JSON.parse(await response.text());
      const byId = new Map<unknown, any>(answers.map((one: any) => [one.id, one]));
      expect([...byId.keys()].sort()).toEqual([1, '1', 2].sort());
      expect(byId.get(1).result).toEqual({});
      expect(byId.get('1').result.prompts).not.toEqual([]);
      expect(byId.get(2).error.code).toBe(-32601);
      const quiet = await session.post('[{"jsonrpc":"2.0","method":"notifications/vendor/x"}]');
      expect([quiet.status, await quiet.text()]).toEqual([202, '']);
    }
  });

  test.each(LEGACY_REVISIONS.filter((revision) => revision !== '2025-03-26'))(
    'X15 a batch of a %s client: 400 -32600',
    async (revision) => {
      const upstream = closing(await startModernServer());
      const gateway = closing(await startGateway(upstream.url));
      const session = await openWireSession(gateway.url, { revision });
      const response = await session.post(`[${requestText(1, 'ping')}]`);
      expect(response.status).toBe(400);
      expect((await response.rpc()).error.code).toBe(-32600);
    },
  );

  test('X15 an array from a 2025-03-26 upstream is read as the messages in it', async () => {
    const script: Script = (request, res) => {
      const stream = openStream(res);
      const progress = JSON.stringify(progressFor(request, 1));
      stream.send(`[${progress},${resultText(request, { content: [{ type: 'text', text: 'batched' }] })}]`);
      stream.end();
    };
    const upstream = closing(await startScript('legacy', script, { revision: '2025-03-26' }));
    const gateway = closing(await startGateway(upstream.url));
    for (const era of ['legacy', 'modern'] as const) {
      const client = await openWireClient(era, gateway.url);
      const response = await client.request(1, 'tools/call', { name: 't' }, { meta: { progressToken: 'p' } });
      expect((await response.rpc()).result.content[0].text).toBe('batched');
      const seen = response.messages.filter(({ method }) => method === 'notifications/progress');
      expect(seen.map(({ params }) => params.progressToken)).toEqual(['p']);
    }
  });

  test.each(['2025-06-18', '2025-03-26', '2024-11-05'])(
    'X15 an upstream that negotiates %s is used, not dropped',
    async (revision) => {
      const upstream = closing(await startLegacyServer({ newestRevision: revision }));
      const gateway = closing(await startGateway(upstream.url));
      const { status, message } = await callModern(gateway.url, 'tools/call', { name: 'test_simple_text' });
      expect([status, message.result.resultType]).toEqual([200, 'complete']);
      const [call] = upstream.requestsFor('tools/call');
      // The header exists since 2025-06-18.
      expect(call?.headers['mcp-protocol-version']).toBe(revision === '2025-06-18' ? revision : undefined);
      const session = await openWireSession(gateway.url);
      expect(session.revision).toBe(revision);
      expect((await session.call('tools/list')).status).toBe(200);
    },
  );

  test('X15 an upstream that negotiates a revision nobody knows is an error', async () => {
    const upstream = closing(await startScript('legacy', always({}), { revision: '2023-01-01' }));
    const gateway = closing(await startGateway(upstream.url));
    const { status, message } = await callModern(gateway.url, 'tools/list', {}, { id: 0 });
    expect([status, message.id, message.error.code]).toEqual([502, 0, -31002]);
  });

  test('X15 legacy client, legacy upstream: the version of the client is offered, and content passes as it is', async () => {
    const upstream = closing(await startScript('legacy', always({ content })));
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url, { revision: '2024-11-05' });
    expect(upstream.requestsFor('initialize')[0]?.message.params.protocolVersion).toBe('2024-11-05');
    expect(session.revision).toBe('2024-11-05');
    const { message } = await session.call('tools/call', { name: 't' });
    expect(message.result.content).toEqual(content);
  });
});

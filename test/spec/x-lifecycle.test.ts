import { describe, expect, test } from 'vitest';
import { CELLS, ERAS, startPeer, startScript } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { startLegacyServer } from '../peers/legacy-server.js';
import { startModernServer } from '../peers/modern-server.js';
import { sendRaw } from '../peers/raw-client.js';
import {
  type Script,
  answer,
  answerResult,
  answerRpcError,
  discoverResult,
  legacyScript,
  modernScript,
  openStream,
  resultText,
  scriptedTool,
  startScriptedServer,
} from '../peers/scripted-server.js';
import {
  CLIENT_INFO,
  KEY,
  LEGACY_REVISIONS,
  MODERN,
  POST_HEADERS,
  callModern,
  initializeText,
  modernHeaders,
  modernMeta,
  modernText,
  openWireClient,
  openWireSession,
  postModern,
  requestText,
} from '../peers/wire-client.js';

const empty: Script = (request, res) => answerResult(res, request, { resultType: 'complete', content: [] });

/** A modern upstream whose DiscoverResult is this. */
async function describedBy(discover: object) {
  const upstream = closing(
    await startScriptedServer(
      modernScript(empty, { discover: (request, res) => answerResult(res, request, discover), tools: [] }),
    ),
  );
  return { upstream, gateway: closing(await startGateway(upstream.url)) };
}

describe('X1 initialize and server/discover', () => {
  test('X1 initialize of a modern upstream: from its discover, negotiated among legacy revisions', async () => {
    const { gateway, upstream } = await describedBy({
      ...discoverResult({ tools: {} }),
      instructions: 'Be kind.',
      futureMember: { a: 1 },
    });
    const { initialize } = await openWireSession(gateway.url, { revision: '2025-06-18' });
    expect(initialize.result).toEqual({
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'scripted-modern', version: '1' },
      instructions: 'Be kind.',
      futureMember: { a: 1 },
    });
    expect(upstream.requestsFor('initialize')).toEqual([]);
    expect(upstream.requestsFor('notifications/initialized')).toEqual([]);
  });

  test.each<[string, object]>([
    ['is missing', {}],
    ['has no name', { _meta: { [KEY.serverInfo]: { version: '9' } } }],
    ['is no object', { _meta: { [KEY.serverInfo]: 'server' } }],
  ])('X1 a serverInfo that %s is completed, because the legacy era requires it', async (_, members) => {
    const { _meta: _own, ...discover } = discoverResult() as { _meta: unknown };
    const { gateway } = await describedBy({ ...discover, ...members });
    const { initialize } = await openWireSession(gateway.url);
    expect(initialize.result.serverInfo).toEqual({
      name: expect.stringMatching(/./),
      version: expect.stringMatching(/./),
    });
  });

  test('X1 a serverInfo in the body, where some modern servers put it, is found', async () => {
    const { _meta: _own, ...discover } = discoverResult() as { _meta: unknown };
    const { gateway } = await describedBy({ ...discover, serverInfo: { name: 'in-body', version: '2' } });
    const { initialize } = await openWireSession(gateway.url);
    expect(initialize.result.serverInfo).toEqual({ name: 'in-body', version: '2' });
  });

  test('X1 server/discover of a legacy upstream: from its InitializeResult', async () => {
    const upstream = closing(
      await startScript('legacy', empty, {
        capabilities: { tools: {}, logging: {} },
        initializeResult: { instructions: 'Be kind.', futureMember: { a: 1 } },
      }),
    );
    const gateway = closing(await startGateway(upstream.url));
    const { status, message } = await callModern(gateway.url, 'server/discover', {}, { id: 'd' });
    expect(status).toBe(200);
    expect(message).toEqual({
      jsonrpc: '2.0',
      id: 'd',
      result: {
        resultType: 'complete',
        supportedVersions: [MODERN, ...LEGACY_REVISIONS],
        capabilities: { tools: {}, logging: {} },
        instructions: 'Be kind.',
        futureMember: { a: 1 },
        ttlMs: 0,
        cacheScope: 'private',
        _meta: { [KEY.serverInfo]: { name: 'scripted-legacy', version: '1' } },
      },
    });
  });
});

describe('X2 capabilities', () => {
  test('X2 server capabilities for a legacy client: what the gateway provides is kept, the tasks extension is not claimed', async () => {
    const { gateway } = await describedBy(
      discoverResult({
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        prompts: {},
        extensions: { 'io.modelcontextprotocol/tasks': {}, 'example.com/ext': { a: 1 } },
        experimental: { x: {} },
      }),
    );
    const { initialize } = await openWireSession(gateway.url);
    expect(initialize.result.capabilities).toMatchObject({
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      prompts: {},
      experimental: { x: {} },
    });
    expect(JSON.stringify(initialize.result.capabilities)).not.toContain('io.modelcontextprotocol/tasks');
  });

  test('X2 a legacy client is declared upstream with what it has, on every request', async () => {
    const upstream = closing(await startScript('modern', empty, { tools: [] }));
    const gateway = closing(await startGateway(upstream.url));
    const capabilities = {
      roots: { listChanged: true },
      sampling: { tools: {} },
      elicitation: { form: {}, url: {} },
      experimental: { x: 1 },
    };
    const session = await openWireSession(gateway.url, { capabilities });
    await session.call('tools/call', { name: 't' });
    await session.call('prompts/list');
    for (const method of ['tools/call', 'prompts/list']) {
      const [seen] = upstream.requestsFor(method);
      expect(seen?.message.params._meta[KEY.clientCapabilities]).toEqual({ ...capabilities, roots: {} });
    }
  });

  test('X2 a modern client is declared at initialize with what this request has, and never with more', async () => {
    const upstream = closing(await startScript('legacy', empty));
    const gateway = closing(await startGateway(upstream.url));
    const declared = [
      {},
      { sampling: {}, elicitation: { form: {} } },
      { roots: {}, extensions: { 'io.modelcontextprotocol/tasks': {}, 'example.com/e': {} } },
    ];
    for (const capabilities of declared) {
      const meta = { [KEY.clientCapabilities]: capabilities };
      expect((await callModern(gateway.url, 'tools/call', { name: 't' }, { meta })).status).toBe(200);
    }
    expect(upstream.requestsFor('initialize').map(({ message }) => message.params.capabilities)).toEqual([
      {},
      { sampling: {}, elicitation: { form: {} } },
      { roots: { listChanged: true }, extensions: { 'example.com/e': {} } },
    ]);
  });
});

describe('X3 sessions', () => {
  test.each(ERAS)('X3 the gateway mints ids of its own, %s upstream', async (era) => {
    const upstream = closing(await startPeer(era));
    const gateway = closing(await startGateway(upstream.url));
    const sessions = await Promise.all(Array.from({ length: 5 }, () => openWireSession(gateway.url)));
    const ids = new Set(sessions.map(({ id }) => id));
    expect(ids.size).toBe(5);
    for (const id of ids) expect(id).toMatch(/^[\x21-\x7e]{22,}$/);
    const upstreamIds = upstream.requests.map(({ headers }) => headers['mcp-session-id']);
    expect(upstreamIds.filter((id) => ids.has(String(id)))).toEqual([]);
  });

  test('X3 DELETE ends the session, and the one behind it', async () => {
    const upstream = closing(await startLegacyServer());
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    expect(upstream.sessions.size).toBe(1);
    expect((await session.delete()).status).toBe(204);
    await expect.poll(() => upstream.sessions.size).toBe(0);
    expect((await session.request(1, 'ping')).status).toBe(404);
  });

  test('X3 idle and old sessions end, busy ones do not', { timeout: 20_000 }, async () => {
    const upstream = closing(await startLegacyServer());
    const open = async (sessions: Record<string, number>) =>
      openWireSession(closing(await startGateway(upstream.url, { sessions })).url);
    const idle = await open({ idleMs: 100 });
    const busy = await open({ idleMs: 100 });
    const stream = closing(await busy.get());
    const old = await open({ maxAgeMs: 100 });
    closing(await old.get());
    // The table is swept every five seconds; asking an idle session would keep it alive.
    await expect.poll(() => upstream.sessions.size, { timeout: 15_000, interval: 100 }).toBe(1);
    const statuses = [idle, busy, old].map(async (session) => (await session.request(1, 'ping')).status);
    expect(await Promise.all(statuses)).toEqual([404, 200, 404]);
    expect(stream.isOver).toBe(false);
  });

  test('X3 the caps: 503 for all together, 429 for one principal, both with Retry-After', async () => {
    const upstream = closing(await startModernServer());
    const gateway = closing(await startGateway(upstream.url, { sessions: { max: 3, maxPerPrincipal: 2 } }));
    const initialize = (token: string) =>
      sendRaw(gateway.url, {
        headers: { ...POST_HEADERS, authorization: `Bearer ${token}` },
        body: initializeText({ id: token }),
      });
    const statuses: number[] = [];
    for (const token of ['a', 'a', 'a', 'b', 'c']) {
      const response = await initialize(token);
      statuses.push(response.status);
      if (response.status === 200) continue;
      expect(response.headers['retry-after']).toBe('5');
      expect(await response.rpc()).toMatchObject({ id: token, error: { code: -31006 } });
    }
    expect(statuses).toEqual([200, 200, 429, 200, 503]);
  });

  test('X3 a modern client is shown no session', async () => {
    const upstream = closing(await startLegacyServer());
    const gateway = closing(await startGateway(upstream.url));
    const response = await postModern(gateway.url, modernText(1, 'tools/list'));
    expect(response.headers).not.toHaveProperty('mcp-session-id');
    expect(response.received).not.toContain([...upstream.sessions.keys()][0]);
    for (const method of ['GET', 'DELETE'] as const) {
      const refused = await sendRaw(gateway.url, { method, headers: { accept: 'text/event-stream' } });
      expect([refused.status, refused.headers['allow']]).toEqual([405, 'POST']);
    }
  });
});

describe('X4 ping', () => {
  test.each(ERAS)('X4 of a legacy client: answered by the gateway, %s upstream', async (era) => {
    const upstream = closing(await startPeer(era));
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    expect(await session.call('ping', undefined, 'p')).toEqual({
      status: 200,
      message: { jsonrpc: '2.0', id: 'p', result: {} },
    });
    expect(upstream.requestsFor('ping')).toEqual([]);
  });

  test.each(ERAS)('X4 of a modern client: there is no such method, %s upstream', async (era) => {
    const upstream = closing(await startPeer(era));
    const gateway = closing(await startGateway(upstream.url));
    const { status, message } = await callModern(gateway.url, 'ping', {}, { id: 'p' });
    expect([status, message.id, message.error.code]).toEqual([404, 'p', -32601]);
  });

  test.each(ERAS)(
    'X4 of a legacy upstream: answered by the gateway and never seen by a %s client',
    async (era) => {
      let finish: (() => void) | undefined;
      const upstream = closing(
        await startScriptedServer(
          legacyScript(
            (request, res) => {
              const stream = openStream(res);
              stream.send({ jsonrpc: '2.0', id: 'up-1', method: 'ping' });
              finish = () => {
                stream.send(resultText(request, { content: [] }));
                stream.end();
              };
            },
            {
              notification: ({ message }, res) => {
                answer(res, 202, '', {});
                if (message.id === 'up-1') finish?.();
              },
            },
          ),
        ),
      );
      const gateway = closing(await startGateway(upstream.url));
      const client = await openWireClient(era, gateway.url);
      const response = await client.request(1, 'tools/call', { name: 't' });
      expect((await response.rpc()).result.content).toEqual([]);
      expect(response.received).not.toContain('ping');
      const pong = upstream.requests.find(({ message }) => message?.id === 'up-1');
      expect(pong?.message).toEqual({ jsonrpc: '2.0', id: 'up-1', result: {} });
      expect(pong?.headers['mcp-session-id']).toBe('session-1');
    },
  );
});

describe('X5 per-request _meta', () => {
  test('X5 of a legacy session towards a modern upstream: built from the session, foreign keys kept', async () => {
    const upstream = closing(await startModernServer());
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url, { capabilities: { sampling: {} } });
    await session.call('logging/setLevel', { level: 'warning' });
    const foreign = { 'example.com/a': { b: [1] }, 'io.modelcontextprotocol/ui': { c: 2 } };
    await session.call('prompts/list', { _meta: foreign });
    expect(upstream.requestsFor('prompts/list')[0]?.message.params._meta).toEqual({
      [KEY.protocolVersion]: MODERN,
      [KEY.clientInfo]: CLIENT_INFO,
      [KEY.clientCapabilities]: { sampling: {} },
      [KEY.logLevel]: 'warning',
      ...foreign,
    });
  });

  test('X5 of a modern request towards a legacy upstream: the reserved keys are gone, others kept', async () => {
    const upstream = closing(await startLegacyServer());
    const gateway = closing(await startGateway(upstream.url));
    const foreign = { 'example.com/a': { b: [1] }, 'io.modelcontextprotocol/ui': { c: 2 } };
    await callModern(gateway.url, 'prompts/list', {}, { meta: { ...foreign, [KEY.logLevel]: 'info' } });
    await callModern(gateway.url, 'resources/list');
    expect(upstream.requestsFor('prompts/list')[0]?.message.params._meta).toEqual(foreign);
    expect(upstream.requestsFor('resources/list')[0]?.message.params).toEqual({});
  });

  test('X5 the serverInfo of results: removed for a legacy client, added for a modern one', async () => {
    const modern = closing(await startModernServer());
    const first = closing(await startGateway(modern.url));
    const session = await openWireSession(first.url);
    expect((await session.call('prompts/list')).message.result).not.toHaveProperty('_meta');
    const legacy = closing(await startLegacyServer());
    const second = closing(await startGateway(legacy.url));
    const { message } = await callModern(second.url, 'prompts/list');
    expect(message.result._meta[KEY.serverInfo]).toMatchObject({ name: 'legacy-peer', version: '1.0.0' });
  });

  test('X5 trace context travels in headers and in _meta', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const headers = { traceparent, tracestate: 'a=b', baggage: 'k=v' };
    for (const { client, upstream: era } of CELLS) {
      const upstream = closing(await startPeer(era));
      const gateway = closing(await startGateway(upstream.url));
      const wire = await openWireClient(client, gateway.url, { headers });
      await wire.call('prompts/list', {}, { meta: { traceparent } });
      const [seen] = upstream.requestsFor('prompts/list');
      expect(seen?.headers).toMatchObject(headers);
      expect(seen?.message.params._meta.traceparent).toBe(traceparent);
    }
  });
});

describe('X6 required headers', () => {
  test('X6 towards a modern upstream they are made from the body', async () => {
    const upstream = closing(await startModernServer());
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url, {
      headers: { 'mcp-name': 'forged', 'mcp-method': 'x' },
    });
    await session.call('tools/call', { name: 'probe_echo' });
    await session.call('prompts/get', { name: 'test_simple_prompt' });
    await session.call('resources/read', { uri: 'test://static-text' });
    await session.call('resources/read', { uri: 'test://ü' });
    await session.call('tools/list');
    const seen = (method: string) =>
      upstream
        .requestsFor(method)
        .map(({ headers }) => [headers['mcp-protocol-version'], headers['mcp-method'], headers['mcp-name']]);
    expect(seen('tools/call')).toEqual([[MODERN, 'tools/call', 'probe_echo']]);
    expect(seen('prompts/get')).toEqual([[MODERN, 'prompts/get', 'test_simple_prompt']]);
    const encoded = `=?base64?${Buffer.from('test://ü').toString('base64')}?=`;
    expect(seen('resources/read')).toEqual([
      [MODERN, 'resources/read', 'test://static-text'],
      [MODERN, 'resources/read', encoded],
    ]);
    expect(seen('tools/list').at(-1)).toEqual([MODERN, 'tools/list', undefined]);
  });

  test.each([' lead', 'trail ', 'tab\t', 'a\nb', '=?base64?eA==?='])(
    'X6 the name %j, which a header cannot carry as it is, arrives',
    async (name) => {
      const upstream = closing(
        await startScript('modern', (request, res) =>
          answerResult(res, request, { resultType: 'complete', messages: [] }),
        ),
      );
      const gateway = closing(await startGateway(upstream.url));
      const session = await openWireSession(gateway.url);
      expect((await session.call('prompts/get', { name })).status).toBe(200);
      const [seen] = upstream.requestsFor('prompts/get');
      const header = String(seen?.headers['mcp-name']);
      const text = /^=\?base64\?(.*)\?=$/.exec(header)?.[1];
      expect(text === undefined ? header : Buffer.from(text, 'base64').toString()).toBe(name);
      expect(text).toBeDefined();
    },
  );

  const body = modernText('h', 'tools/call', { name: 'probe_echo' });
  const { accept: _a, 'content-type': _c, ...own } = modernHeaders(body);
  const without = (name: string): Record<string, string> =>
    Object.fromEntries(Object.entries(own).filter(([key]) => key !== name));

  test.each<[string, Record<string, string>]>([
    ['Mcp-Method missing', without('mcp-method')],
    ['Mcp-Name missing', without('mcp-name')],
    ['MCP-Protocol-Version missing', without('mcp-protocol-version')],
    ['another Mcp-Method', { ...own, 'mcp-method': 'tools/list' }],
    ['another Mcp-Name', { ...own, 'mcp-name': 'probe_ech' }],
    ['Mcp-Name in another case', { ...own, 'mcp-name': 'Probe_Echo' }],
    ['Mcp-Name in base64, but another', { ...own, 'mcp-name': `=?base64?${btoa('other')}?=` }],
    ['Mcp-Name in broken base64', { ...own, 'mcp-name': '=?base64?cHJvYmVfZWNobw?=' }],
    ['an older MCP-Protocol-Version', { ...own, 'mcp-protocol-version': '2025-11-25' }],
    ['MCP-Protocol-Version nobody serves', { ...own, 'mcp-protocol-version': '2031-01-01' }],
  ])('X6 of a modern request with %s: 400 -32020, and the upstream never sees it', async (_, headers) => {
    for (const era of ERAS) {
      const upstream = closing(await startPeer(era));
      const gateway = closing(await startGateway(upstream.url));
      const response = await sendRaw(gateway.url, { headers: { ...POST_HEADERS, ...headers }, body });
      expect(response.status).toBe(400);
      expect(await response.rpc()).toMatchObject({ id: 'h', error: { code: -32020 } });
      expect(upstream.requestsFor('tools/call')).toEqual([]);
    }
  });

  test('X6 what is equal when decoded is equal', async () => {
    const upstream = closing(await startLegacyServer());
    const gateway = closing(await startGateway(upstream.url));
    const headers = { ...POST_HEADERS, ...own, 'mcp-name': `=?base64?${btoa('probe_echo')}?=` };
    expect((await sendRaw(gateway.url, { headers, body })).status).toBe(200);
  });

  test.each<[string, Record<string, unknown>, number]>([
    ['no clientCapabilities', { [KEY.clientCapabilities]: undefined }, -32602],
    ['clientCapabilities that are no object', { [KEY.clientCapabilities]: 'all' }, -32602],
    ['clientInfo that is no object', { [KEY.clientInfo]: 'me' }, -32602],
    ['a log level that is none', { [KEY.logLevel]: 'loud' }, -32602],
  ])('X6 of a modern request with %s: 400', async (_, meta, code) => {
    const upstream = closing(await startLegacyServer());
    const gateway = closing(await startGateway(upstream.url));
    const response = await postModern(gateway.url, modernText(0, 'tools/list', {}, meta));
    expect(response.status).toBe(400);
    expect(await response.rpc()).toMatchObject({ id: 0, error: { code } });
  });

  test('X6 a version nobody serves: 400 -32022 with what is served, modern first', async () => {
    const upstream = closing(await startLegacyServer());
    const gateway = closing(await startGateway(upstream.url));
    const text = requestText('v', 'tools/list', {
      _meta: { ...modernMeta(), [KEY.protocolVersion]: '2031-01-01' },
    });
    const headers = { ...modernHeaders(text), 'mcp-protocol-version': '2031-01-01' };
    const response = await sendRaw(gateway.url, { headers, body: text });
    expect(response.status).toBe(400);
    expect(await response.rpc()).toMatchObject({
      id: 'v',
      error: {
        code: -32022,
        data: { supported: [MODERN, ...LEGACY_REVISIONS], requested: '2031-01-01' },
      },
    });
  });
});

describe('X7 x-mcp-header', () => {
  const mirrored = (properties: object, extra: object = {}): object =>
    scriptedTool('t', { inputSchema: { type: 'object', properties }, ...extra });

  const region = mirrored({
    region: { type: 'string', 'x-mcp-header': 'Region' },
    level: { type: 'integer', 'x-mcp-header': 'Level' },
    dry: { type: 'boolean', 'x-mcp-header': 'Dry' },
    plain: { type: 'string' },
  });

  test('X7 of a legacy client: the headers are made from the list, which is fetched for the first call', async () => {
    const upstream = closing(await startScript('modern', empty, { tools: [region] }));
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    const args = { region: 'eu ü', level: 9007199254740993n, dry: false, plain: 'x' };
    const body = requestText(1, 'tools/call', { name: 't', arguments: { ...args, level: 0 } });
    await (await session.post(body.replace('"level":0', '"level":9007199254740993'))).rpc();
    const headers = upstream.requestsFor('tools/call')[0]?.headers ?? {};
    const mirroredHeaders = Object.entries(headers).filter(([name]) => name.startsWith('mcp-param-'));
    expect(Object.fromEntries(mirroredHeaders)).toEqual({
      'mcp-param-region': `=?base64?${Buffer.from('eu ü').toString('base64')}?=`,
      'mcp-param-level': '9007199254740993',
      'mcp-param-dry': 'false',
    });
    await session.call('tools/call', { name: 't', arguments: {} });
    const second = upstream.requestsFor('tools/call')[1]?.headers ?? {};
    expect(Object.keys(second).filter((name) => name.startsWith('mcp-param-'))).toEqual([]);
    expect(upstream.requestsFor('tools/list')).toHaveLength(1);
  });

  test('X7 tools with an annotation that is not valid are left out of a legacy list, the others stay', async () => {
    const tools = [
      mirrored({ a: { type: 'string', 'x-mcp-header': '' } }, { name: 'empty' }),
      mirrored({ a: { type: 'string', 'x-mcp-header': 'has space' } }, { name: 'space' }),
      mirrored(
        { a: { type: 'string', 'x-mcp-header': 'X' }, b: { type: 'string', 'x-mcp-header': 'x' } },
        { name: 'twice' },
      ),
      mirrored({ a: { type: 'object', 'x-mcp-header': 'X' } }, { name: 'object' }),
      mirrored({ a: { type: 'string', 'x-mcp-header': 'Fine' } }, { name: 'fine' }),
      scriptedTool('plain'),
    ];
    const upstream = closing(await startScript('modern', empty, { tools }));
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    const { message } = await session.call('tools/list');
    expect(message.result.tools.map(({ name }: any) => name)).toEqual(['fine', 'plain']);
  });

  test.each<[string, Record<string, string>, object, boolean]>([
    ['the same', { 'mcp-param-region': 'eu' }, { region: 'eu' }, true],
    ['the same in base64', { 'mcp-param-region': `=?base64?${btoa('eu')}?=` }, { region: 'eu' }, true],
    ['an integer written another way', { 'mcp-param-level': '1.0' }, { level: 1 }, true],
    ['one nobody recognises', { 'mcp-param-other': 'x' }, {}, true],
    ['another value', { 'mcp-param-region': 'us' }, { region: 'eu' }, false],
    ['a value that is not in the body', { 'mcp-param-region': 'eu' }, {}, false],
    ['another integer', { 'mcp-param-level': '2' }, { level: 1 }, false],
    ['another boolean', { 'mcp-param-dry': 'true' }, { dry: false }, false],
    ['a value missing beside another', { 'mcp-param-level': '1' }, { level: 1, region: 'eu' }, false],
  ])('X7 of a modern client, legacy upstream: %s', async (_, headers, args, fine) => {
    const upstream = closing(
      await startScript('legacy', (request, res) => {
        if (request.method === 'tools/list') answerResult(res, request, { tools: [region] });
        else answerResult(res, request, { content: [] });
      }),
    );
    const gateway = closing(await startGateway(upstream.url));
    const params = { name: 't', arguments: args };
    const { status, message } = await callModern(gateway.url, 'tools/call', params, { id: 'm', headers });
    expect(status).toBe(fine ? 200 : 400);
    if (!fine) expect(message).toMatchObject({ id: 'm', error: { code: -32020 } });
    const calls = upstream.requestsFor('tools/call');
    expect(calls).toHaveLength(fine ? 1 : 0);
    expect(Object.keys(calls[0]?.headers ?? {}).filter((name) => name.startsWith('mcp-param-'))).toEqual([]);
  });
});

describe('X31 capabilities.extensions', () => {
  const extensions = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html'] }, 'example.com/e': {} };

  test.each(ERAS)('X31 of the server: carried to a %s client from the other era', async (era) => {
    const upstream = closing(
      era === 'legacy'
        ? await startScript('modern', empty, { capabilities: { extensions } })
        : await startScript('legacy', empty, { capabilities: { extensions } }),
    );
    const gateway = closing(await startGateway(upstream.url));
    const described =
      era === 'legacy'
        ? (await openWireSession(gateway.url)).initialize
        : (await callModern(gateway.url, 'server/discover')).message;
    expect(described.result.capabilities.extensions).toEqual(extensions);
  });

  test.each(ERAS)(
    'X31 of a %s client: carried to the server of the other era, tasks left out',
    async (era) => {
      const upstream = closing(
        await startScript(era === 'legacy' ? 'modern' : 'legacy', empty, { tools: [] }),
      );
      const gateway = closing(await startGateway(upstream.url));
      const capabilities = { extensions: { ...extensions, 'io.modelcontextprotocol/tasks': {} } };
      const client = await openWireClient(era, gateway.url, { capabilities });
      expect((await client.call('tools/call', { name: 't' })).status).toBe(200);
      const seen =
        era === 'legacy'
          ? upstream.requestsFor('tools/call')[0]?.message.params._meta[KEY.clientCapabilities]
          : upstream.requestsFor('initialize')[0]?.message.params.capabilities;
      expect(seen.extensions).toEqual(extensions);
    },
  );

  test.each(CELLS)('X31 resources and metadata of the Apps extension pass, $cell', async (cell) => {
    const _meta = { ui: { resourceUri: 'ui://app/main' }, 'ui/resourceUri': 'ui://app/main' };
    const contents = [
      {
        uri: 'ui://app/main',
        mimeType: 'text/html;profile=mcp-app',
        text: '<p>',
        _meta: { ui: { csp: {} } },
      },
    ];
    const upstream = closing(
      await startScript(cell.upstream, (request, res) => {
        const base = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
        if (request.method === 'resources/read') answerResult(res, request, { ...base, contents });
        else answerResult(res, request, { ...base, tools: [scriptedTool('t', { _meta })] });
      }),
    );
    const gateway = closing(await startGateway(upstream.url));
    const client = await openWireClient(cell.client, gateway.url);
    expect((await client.call('tools/list')).message.result.tools[0]._meta).toEqual(_meta);
    const read = await client.call('resources/read', { uri: 'ui://app/main' });
    expect(read.message.result.contents).toEqual(contents);
  });
});

describe.each(CELLS)('X32 what only vendors know, $cell', (cell) => {
  test('X32 a method: relayed with its params, its result and its errors', async () => {
    const upstream = closing(
      await startScript(cell.upstream, (request, res) => {
        if (request.message.params.fail) answerRpcError(res, request, 200, 99, 'vendor says no', { v: 1 });
        else answerResult(res, request, { resultType: 'complete', vendor: request.message.params.a });
      }),
    );
    const gateway = closing(await startGateway(upstream.url));
    const client = await openWireClient(cell.client, gateway.url);
    const { status, message } = await client.call('vendor/thing', { a: { deep: [1] } }, { id: 'v' });
    expect(status).toBe(200);
    expect(message).toMatchObject({ id: 'v', result: { vendor: { deep: [1] } } });
    const failed = await client.call('vendor/thing', { fail: true }, { id: 'w' });
    expect(failed.message).toEqual({
      jsonrpc: '2.0',
      id: 'w',
      error: { code: 99, message: 'vendor says no', data: { v: 1 } },
    });
  });

  test('X32 a method the upstream does not know: 200 in a session, 404 for a modern client', async () => {
    const upstream = closing(
      await startScript(cell.upstream, (request, res) =>
        answerRpcError(res, request, cell.upstream === 'modern' ? 404 : 200, -32601, 'Method not found'),
      ),
    );
    const gateway = closing(await startGateway(upstream.url));
    const client = await openWireClient(cell.client, gateway.url);
    const { status, message } = await client.call('vendor/thing', {}, { id: 0 });
    expect(status).toBe(cell.client === 'legacy' ? 200 : 404);
    expect(message).toMatchObject({ id: 0, error: { code: -32601 } });
  });

  test('X32 a notification: 202, and it arrives', async () => {
    const upstream = closing(await startScript(cell.upstream, empty));
    const gateway = closing(await startGateway(upstream.url));
    const client = await openWireClient(cell.client, gateway.url);
    expect((await client.notify('notifications/vendor/happened', { a: 1 })).status).toBe(202);
    await expect.poll(() => upstream.requestsFor('notifications/vendor/happened').length).toBe(1);
    const [seen] = upstream.requestsFor('notifications/vendor/happened');
    expect(seen?.message.params.a).toBe(1);
    if (cell.upstream === 'legacy') expect(seen?.body).not.toContain(KEY.protocolVersion);
    else expect(seen?.headers['mcp-method']).toBe('notifications/vendor/happened');
  });

  test('X32 a notification on the stream of a call reaches the client', async () => {
    const upstream = closing(
      await startScript(
        cell.upstream,
        (request, res) => {
          const stream = openStream(res);
          stream.send({ jsonrpc: '2.0', method: 'notifications/vendor/step', params: { n: 1 } });
          stream.send(resultText(request, { resultType: 'complete', content: [] }));
          stream.end();
        },
        { tools: [] },
      ),
    );
    const gateway = closing(await startGateway(upstream.url));
    const client = await openWireClient(cell.client, gateway.url);
    const response = await client.request(1, 'tools/call', { name: 't' });
    await response.text();
    expect(response.messages[0]).toMatchObject({ method: 'notifications/vendor/step', params: { n: 1 } });
  });

  test('X32 a posted notifications/cancelled is accepted, and cancels nothing it does not name', async () => {
    const upstream = closing(await startScript(cell.upstream, empty, { tools: [] }));
    const gateway = closing(await startGateway(upstream.url));
    const client = await openWireClient(cell.client, gateway.url);
    expect((await client.notify('notifications/cancelled', { requestId: 'unknown' })).status).toBe(202);
    expect((await client.call('tools/call', { name: 't' })).status).toBe(200);
    expect(upstream.cancelled).toEqual([]);
  });
});

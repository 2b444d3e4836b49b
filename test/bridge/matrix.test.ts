import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LOG_LEVELS } from '../peers/catalogue/fixture-tool.js';
import { PNG, WAV } from '../peers/catalogue/media.js';
import { prompts } from '../peers/catalogue/prompts.js';
import { resources, resourceTemplates } from '../peers/catalogue/resources.js';
import { toolsOf } from '../peers/catalogue/tools.js';
import { CELLS, startPeer } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { type RunningGateway, startGateway } from '../peers/gateway.js';
import type { PeerServer } from '../peers/peer-server.js';
import { agreeable } from '../peers/question-handlers.js';
import {
  type Era,
  KEY,
  type WireClient,
  modernText,
  openWireClient,
  openWireSession,
  postModern,
} from '../peers/wire-client.js';
import { type SdkClient, connectSdkClient } from './sdk-client.js';

/** What a feature is tried with: one cell, its server, its gateway, and clients of the SDK and of the wire. */
interface Cell {
  readonly client: Era;
  readonly upstream: Era;
  readonly server: PeerServer;
  readonly gateway: RunningGateway;
  readonly sdk: SdkClient;
  readonly wire: WireClient;
}

type Feature = (cell: Cell) => Promise<void>;

const ALL_QUESTIONS = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

const textOf = (result: any): string => result.content[0].text;

/** The code an SDK call was refused with. */
async function refusal(call: Promise<unknown>): Promise<any> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Error);
  return error;
}

const FEATURES: Record<string, Feature> = {
  'server info': async ({ sdk, upstream }) => {
    expect(sdk.serverInfo).toEqual({
      name: `${upstream}-peer`,
      version: '1.0.0',
      title: upstream === 'legacy' ? 'Legacy Peer' : 'Modern Peer',
    });
  },
  instructions: async ({ sdk, upstream }) => {
    expect(sdk.instructions).toBe(`A ${upstream} test peer with every fixture of the suite.`);
  },
  'server capabilities': async ({ sdk }) => {
    expect(sdk.serverCapabilities).toMatchObject({
      tools: {},
      prompts: {},
      resources: {},
      completions: {},
      logging: {},
    });
  },

  'tools/list': async ({ sdk, upstream }) => {
    const { tools } = await sdk.listTools();
    expect(tools.map(({ name }: any) => name)).toEqual(
      toolsOf(upstream).map(({ definition }) => definition.name),
    );
    const echo = tools.find(({ name }: any) => name === 'probe_echo');
    expect(echo).toEqual(
      toolsOf(upstream).find(({ definition }) => definition.name === 'probe_echo')?.definition,
    );
  },
  'tools/list with a 2020-12 schema': async ({ sdk, upstream }) => {
    const { tools } = await sdk.listTools();
    const name = 'json_schema_2020_12_tool';
    const own = toolsOf(upstream).find(({ definition }) => definition.name === name)?.definition.inputSchema;
    expect(tools.find((tool: any) => tool.name === name).inputSchema).toEqual(own);
  },
  'tools/call': async ({ sdk }) => {
    const result = await sdk.callTool('test_simple_text');
    expect(result.content).toEqual([{ type: 'text', text: 'This is a simple text response for testing.' }]);
  },
  'tools/call with arguments': async ({ sdk }) => {
    const args = { value: { a: [1, 'zwei', null, true], ключ: '日本語 😀' } };
    expect(JSON.parse(textOf(await sdk.callTool('probe_echo', args)))).toEqual(args);
  },
  'a tool error (isError)': async ({ sdk }) => {
    const result = await sdk.callTool('test_error_handling');
    expect(result).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'This tool intentionally returns an error for testing' }],
    });
  },
  'a JSON-RPC error with data': async ({ sdk }) => {
    const data = { nested: { list: [1, 2] } };
    const error = await refusal(sdk.callTool('probe_rpc_error', { code: 1234, message: 'own words', data }));
    expect(error).toMatchObject({ code: 1234, data });
    expect(error.message).toContain('own words');
  },

  progress: async ({ sdk }) => {
    const seen: any[] = [];
    const result = await sdk.callTool('test_tool_with_progress', {}, { onprogress: (p) => seen.push(p) });
    expect(seen.map(({ progress, total, message }) => [progress, total, message])).toEqual(
      [0, 50, 100].map((done) => [done, 100, `Completed step ${done} of 100`]),
    );
    expect(result.content).toHaveLength(1);
  },
  'progress of two calls at once': async ({ sdk }) => {
    const seen: Record<string, string[]> = { a: [], b: [] };
    const args = (label: string) => ({ ms: 60, tickMs: 20, label });
    await Promise.all(
      ['a', 'b'].map((label) =>
        sdk.callTool('probe_slow', args(label), { onprogress: ({ message }) => seen[label]?.push(message) }),
      ),
    );
    const ticks = ['tick 1', 'tick 2', 'tick 3'];
    expect(seen).toEqual({ a: ticks, b: ticks });
  },
  'no progress without a token': async ({ wire }) => {
    const response = await wire.request(1, 'tools/call', { name: 'test_tool_with_progress' });
    await response.rpc();
    expect(response.received).not.toContain('notifications/progress');
  },
  'log messages at the level asked for': async ({ wire, client }) => {
    if (client === 'legacy')
      expect((await wire.call('logging/setLevel', { level: 'error' })).status).toBe(200);
    const meta = client === 'modern' ? { [KEY.logLevel]: 'error' } : {};
    const response = await wire.request(1, 'tools/call', { name: 'probe_log' }, { meta });
    await response.rpc();
    const logged = response.messages.filter(({ method }) => method === 'notifications/message');
    expect(logged.map(({ params }) => params.level)).toEqual(LOG_LEVELS.slice(LOG_LEVELS.indexOf('error')));
    expect(logged[0]?.params.data).toMatchObject({ probe: 'probe_log', level: 'error' });
  },

  'structured content: an object': async ({ sdk }) => {
    await sdk.listTools();
    const result = await sdk.callTool('probe_structured', { n: 7 });
    expect(result.structuredContent).toEqual({ n: 7, squared: 49 });
  },
  'structured content: an array': async ({ sdk, client, upstream }) => {
    const { tools } = await sdk.listTools();
    const tool = tools.find(({ name }: any) => name === 'probe_array');
    if (upstream === 'legacy') {
      // No legacy server can offer such a tool.
      expect(tool).toBeUndefined();
      return;
    }
    const result = await sdk.callTool('probe_array', { n: 3 });
    expect(result.structuredContent).toEqual(client === 'legacy' ? { result: [0, 1, 2] } : [0, 1, 2]);
  },
  'an image': async ({ sdk }) => {
    expect((await sdk.callTool('test_image_content')).content).toEqual([
      { type: 'image', data: PNG, mimeType: 'image/png' },
    ]);
  },
  audio: async ({ sdk }) => {
    expect((await sdk.callTool('test_audio_content')).content).toEqual([
      { type: 'audio', data: WAV, mimeType: 'audio/wav' },
    ]);
  },
  'an embedded resource': async ({ sdk }) => {
    expect((await sdk.callTool('test_embedded_resource')).content[0].resource).toEqual({
      uri: 'test://embedded-resource',
      mimeType: 'text/plain',
      text: 'This is an embedded resource content.',
    });
  },
  'several kinds of content': async ({ sdk }) => {
    const { content } = await sdk.callTool('test_multiple_content_types');
    expect(content.map(({ type }: any) => type)).toEqual(['text', 'image', 'resource']);
  },
  'a resource link': async ({ sdk }) => {
    const { content } = await sdk.callTool('probe_resource_link');
    expect(content).toEqual([
      {
        type: 'resource_link',
        uri: 'test://static-text',
        name: 'Static text',
        mimeType: 'text/plain',
        annotations: { audience: ['user'], priority: 0.5 },
      },
    ]);
  },
  '_meta up and down': async ({ wire }) => {
    const own = { 'example.com/up': { kept: [1] } };
    const { message } = await wire.call('tools/call', { name: 'probe_result_meta' }, { meta: own });
    expect(JSON.parse(textOf(message.result))).toMatchObject(own);
    expect(message.result._meta).toMatchObject({ 'example.com/result-meta': { kept: true } });
  },

  'resources/list': async ({ sdk }) => {
    expect((await sdk.listResources()).resources).toEqual(resources);
  },
  'resources/templates/list': async ({ sdk }) => {
    expect((await sdk.listResourceTemplates()).resourceTemplates).toEqual(resourceTemplates);
  },
  'resources/read: text': async ({ sdk }) => {
    const [content] = (await sdk.readResource('test://static-text')).contents;
    expect(content).toMatchObject({ uri: 'test://static-text', mimeType: 'text/plain' });
    expect(content.text).toBe('This is the content of the static text resource.');
  },
  'resources/read: binary': async ({ sdk }) => {
    const [content] = (await sdk.readResource('test://static-binary')).contents;
    expect(content).toEqual({ uri: 'test://static-binary', mimeType: 'image/png', blob: PNG });
  },
  'resources/read: a template': async ({ sdk }) => {
    const [content] = (await sdk.readResource('test://template/42/data')).contents;
    expect(JSON.parse(content.text)).toMatchObject({ id: '42' });
  },
  'resources/read: not found': async ({ sdk, client }) => {
    const error = await refusal(sdk.readResource('test://nothing-here'));
    expect(error.code).toBe(client === 'legacy' ? -32002 : -32602);
    expect(error.data).toEqual({ uri: 'test://nothing-here' });
  },

  'prompts/list': async ({ sdk }) => {
    const definitions = prompts.map(({ definition }) => definition);
    expect((await sdk.listPrompts()).prompts).toEqual(definitions);
  },
  'prompts/get': async ({ sdk }) => {
    const { messages } = await sdk.getPrompt('test_simple_prompt');
    expect(messages[0]).toEqual({
      role: 'user',
      content: { type: 'text', text: 'This is a simple prompt for testing.' },
    });
  },
  'prompts/get with arguments': async ({ sdk }) => {
    const { messages } = await sdk.getPrompt('test_prompt_with_arguments', { arg1: 'eins', arg2: 'zwei' });
    expect(messages[0].content.text).toContain("arg1='eins', arg2='zwei'");
  },
  'prompts/get: a resource and an image': async ({ sdk }) => {
    const uri = 'test://static-text';
    const embedded = await sdk.getPrompt('test_prompt_with_embedded_resource', { resourceUri: uri });
    expect(embedded.messages[0].content.resource.uri).toBe(uri);
    const image = await sdk.getPrompt('test_prompt_with_image');
    expect(image.messages[0].content).toMatchObject({ type: 'image', data: PNG });
  },
  'prompts/get: not found': async ({ sdk }) => {
    expect((await refusal(sdk.getPrompt('no_such_prompt'))).code).toBe(-32602);
  },
  'tools/call: not found': async ({ sdk }) => {
    expect((await refusal(sdk.callTool('no_such_tool'))).code).toBe(-32602);
  },
  completion: async ({ sdk }) => {
    const { completion } = await sdk.complete({
      ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
      argument: { name: 'arg1', value: 'par' },
    });
    expect(completion).toEqual({ values: ['paris', 'park', 'party'], total: 3, hasMore: false });
  },
  pagination: async ({ client, upstream }) => {
    const server = closing(await startPeer(upstream, { pageSize: 2 }));
    const gateway = closing(await startGateway(server.url));
    const wire = await openWireClient(client, gateway.url);
    const names: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const { message } = await wire.call('prompts/list', cursor === undefined ? {} : { cursor });
      names.push(...message.result.prompts.map(({ name }: any) => name));
      cursor = message.result.nextCursor;
      pages++;
    } while (cursor !== undefined && pages < 10);
    expect(pages).toBe(3);
    expect(names).toEqual(prompts.map(({ definition }) => definition.name));
    const refused = await wire.call('prompts/list', { cursor: 'never-given' });
    expect(refused.message.error.code).toBe(-32602);
  },

  'an unknown method': async ({ wire, client }) => {
    const { status, message } = await wire.call('no/such-method', {}, { id: 'u' });
    expect([status, message.id, message.error.code]).toEqual([client === 'legacy' ? 200 : 404, 'u', -32601]);
  },
  ping: async ({ wire, client, server }) => {
    const { status, message } = await wire.call('ping', undefined, { id: 0 });
    if (client === 'legacy') expect([status, message]).toEqual([200, { jsonrpc: '2.0', id: 0, result: {} }]);
    else expect([status, message.error.code]).toEqual([404, -32601]);
    expect(server.requestsFor('ping')).toEqual([]);
  },
  'a result of 1 MB': async ({ sdk }) => {
    const text = textOf(await sdk.callTool('probe_big', { bytes: 1 << 20 }));
    expect(text.length).toBe(1 << 20);
    expect(/^x+$/.test(text)).toBe(true);
  },
  'arguments of 1 MB': async ({ sdk }) => {
    const value = 'ä'.repeat(1 << 19);
    expect(JSON.parse(textOf(await sdk.callTool('probe_echo', { value }))).value).toBe(value);
  },
  'names beyond ASCII': async ({ sdk, server, upstream }) => {
    const id = 'Zürich-日本-😀 x';
    const uri = `test://template/${id}/data`;
    const [content] = (await sdk.readResource(uri)).contents;
    expect(JSON.parse(content.text).id).toBe(id);
    const seen = server.requestsFor('resources/read').at(-1);
    expect(seen?.message.params.uri).toBe(uri);
    const header = `=?base64?${Buffer.from(uri).toString('base64')}?=`;
    expect(seen?.headers['mcp-name']).toBe(upstream === 'modern' ? header : undefined);
  },
  'a parameter mirrored into a header': async ({ sdk, server, upstream }) => {
    await sdk.listTools();
    for (const region of ['eu', 'Zürich']) {
      expect(textOf(await sdk.callTool('test_x_mcp_header', { region }))).toBe(`region=${region}`);
    }
    const headers = server
      .requestsFor('tools/call')
      .filter(({ message }) => message.params.name === 'test_x_mcp_header')
      .map((request) => request.headers['mcp-param-region']);
    const expected = ['eu', `=?base64?${Buffer.from('Zürich').toString('base64')}?=`];
    expect(headers).toEqual(upstream === 'modern' ? expected : [undefined, undefined]);
  },
  '20 calls at once': async ({ sdk }) => {
    const values = Array.from({ length: 20 }, (_, value) => value);
    const results = await Promise.all(values.map((value) => sdk.callTool('probe_echo', { value })));
    expect(results.map((result) => JSON.parse(textOf(result)).value)).toEqual(values);
  },
  '20 calls with one id': async ({ wire }) => {
    const values = Array.from({ length: 20 }, (_, value) => value);
    const answers = await Promise.all(
      values.map((value) =>
        wire.call('tools/call', { name: 'probe_echo', arguments: { value } }, { id: 'same' }),
      ),
    );
    expect(answers.map(({ message }) => JSON.parse(textOf(message.result)).value)).toEqual(values);
    expect(new Set(answers.map(({ message }) => message.id))).toEqual(new Set(['same']));
  },
  'state between calls': async ({ client, gateway, upstream }) => {
    const headers = { authorization: `Bearer state-${client}` };
    const wire = await openWireClient(client, gateway.url, { headers });
    const count = async () =>
      Number(textOf((await wire.call('tools/call', { name: 'probe_counter' })).message.result));
    const first = await count();
    expect(await count()).toBe(first + 1);
    // A modern server has no sessions: what it counts is for all.
    if (upstream === 'legacy') expect(first).toBe(1);
  },
  cancellation: async ({ sdk, server }) => {
    const abort = new AbortController();
    const runs = once(server.log, 'run');
    const call = sdk.callTool('probe_slow', { ms: 10_000, tickMs: 10_000 }, { signal: abort.signal });
    const settled = expect(call).rejects.toThrow();
    await runs;
    const aborted = once(server.log, 'aborted');
    abort.abort('enough');
    expect((await aborted)[0].name).toBe('probe_slow');
    await settled;
  },
  'a stream the upstream closes midway': async ({ sdk }) => {
    expect(textOf(await sdk.callTool('test_reconnection'))).toContain('completed successfully');
  },

  'a question: form': async ({ sdk }) => {
    const form = JSON.parse(textOf(await sdk.callTool('probe_elicit_form', { label: 'm' })));
    expect(form).toEqual({ action: 'accept', content: { name: 'Ada' } });
  },
  'a question: form, declined': async ({ client, gateway }) => {
    const sdk = closing(
      await connectSdkClient(client, gateway.url, { onElicit: () => ({ action: 'decline' }) }),
    );
    expect(JSON.parse(textOf(await sdk.callTool('probe_elicit_form')))).toEqual({ action: 'decline' });
  },
  'a question: URL': async ({ client, gateway }) => {
    const asked: any[] = [];
    const onElicit = (params: any) => {
      asked.push(params);
      return { action: 'accept' };
    };
    const sdk = closing(await connectSdkClient(client, gateway.url, { onElicit }));
    expect(JSON.parse(textOf(await sdk.callTool('probe_elicit_url', { label: 'u' }))).action).toBe('accept');
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ mode: 'url', url: 'https://example.com/authorize?x=u' });
    // A legacy client needs an id to be told of the completion; the modern era has none.
    if (client === 'legacy') expect(asked[0].elicitationId).toMatch(/./);
    else expect(asked[0]).not.toHaveProperty('elicitationId');
  },
  'a question: sampling': async ({ sdk }) => {
    expect(JSON.parse(textOf(await sdk.callTool('probe_sample', { prompt: 'say' })))).toMatchObject({
      role: 'assistant',
      content: { type: 'text', text: 'hi' },
    });
  },
  'a question: roots': async ({ sdk }) => {
    expect(JSON.parse(textOf(await sdk.callTool('probe_roots')))).toEqual([
      { uri: 'file:///root', name: 'Root' },
    ]);
  },
  'questions: two rounds': async ({ sdk }) => {
    expect(textOf(await sdk.callTool('probe_two_rounds'))).toBe('Ada / hi');
  },
  'questions: three at once': async ({ sdk }) => {
    const result = await sdk.callTool('test_input_required_result_multiple_inputs');
    expect(textOf(result)).toBe('hi Ada - 1 root(s) visible');
  },
  'a question of a prompt': async ({ sdk }) => {
    const { messages } = await sdk.getPrompt('test_input_required_result_prompt');
    expect(messages[0].content.text).toMatch(/^Context: /);
  },
  'a question of a resource': async ({ sdk }) => {
    const { contents } = await sdk.readResource('test://asks-first');
    expect(contents[0].text).toMatch(/^Topic: /);
  },
  'a question the client did not declare': async ({ client, gateway, upstream }) => {
    const sdk = closing(await connectSdkClient(client, gateway.url));
    if (client === 'legacy' && upstream === 'legacy') {
      // The question reaches a client that has no handler for it, and the tool is told.
      expect(await sdk.callTool('test_missing_capability')).toMatchObject({ isError: true });
      return;
    }
    const error = await refusal(sdk.callTool('test_missing_capability'));
    const missing = { requiredCapabilities: { sampling: {} } };
    if (client === 'legacy') {
      expect(error).toMatchObject({ code: -32603, data: { upstreamError: { code: -32021, data: missing } } });
      expect(error.message).toMatch(/does not declare: sampling/);
    } else {
      expect(error).toMatchObject({ code: -32021, data: missing });
    }
  },

  'subscription: a changed list': async (cell) => {
    const { stream, method } = await watching(cell);
    await cell.server.announce('tools');
    expect((await stream.nextMessage()).method).toBe('notifications/tools/list_changed');
    expect(method).toBe(cell.client === 'modern' ? 'subscriptions/listen' : 'GET');
  },
  'subscription: a changed resource': async (cell) => {
    const { stream } = await watching(cell);
    await cell.server.announce({ uri: 'test://watched-resource' });
    expect(await stream.nextMessage()).toMatchObject({
      method: 'notifications/resources/updated',
      params: { uri: 'test://watched-resource' },
    });
  },
  'subscription: what nobody asked for': async (cell) => {
    const { stream } = await watching(cell);
    const before = stream.messages.length;
    await cell.server.announce({ uri: 'test://static-text' });
    await cell.server.announce('prompts');
    expect((await stream.nextMessage()).method).toBe('notifications/prompts/list_changed');
    expect(stream.messages).toHaveLength(before + 1);
  },
};

/** A stream of changes to lists and to one resource, open at both ends. */
async function watching({ client, upstream, gateway, server }: Cell) {
  const uri = 'test://watched-resource';
  const headers = { authorization: `Bearer watch-${Math.random()}` };
  if (client === 'modern') {
    const notifications = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: [uri] };
    const body = modernText('w', 'subscriptions/listen', { notifications });
    const stream = closing(await postModern(gateway.url, body, headers));
    expect((await stream.nextMessage()).params.notifications).toEqual(notifications);
    return { stream, method: 'subscriptions/listen' };
  }
  const session = await openWireSession(gateway.url, { headers });
  const stream = closing(await session.get());
  const opened = () =>
    server.requests.some(
      (request) =>
        request.headers.authorization === headers.authorization &&
        (upstream === 'legacy' ? request.httpMethod === 'GET' : request.method === 'subscriptions/listen'),
    );
  await expect.poll(opened).toBe(true);
  expect((await session.call('resources/subscribe', { uri })).message.result).toEqual({});
  return { stream, method: 'GET' };
}

const passed = new Map<string, Set<string>>();

describe.each(CELLS)('$cell', ({ client, upstream, cell: title }) => {
  let cell: Cell;

  beforeAll(async () => {
    const server = await startPeer(upstream);
    const gateway = await startGateway(server.url);
    const sdk = await connectSdkClient(client, gateway.url, agreeable);
    const wire = await openWireClient(client, gateway.url, { capabilities: ALL_QUESTIONS });
    cell = { client, upstream, server, gateway, sdk, wire };
  });

  afterAll(async () => {
    await cell.sdk.close();
    await cell.gateway.close();
    await cell.server.close();
  });

  test.each(Object.entries(FEATURES))('%s', async (name, feature) => {
    await feature(cell);
    passed.set(name, (passed.get(name) ?? new Set()).add(title));
  });
});

afterAll(() => {
  const width = Math.max(...Object.keys(FEATURES).map((name) => name.length));
  const heads = CELLS.map(({ client, upstream }) => `${client} → ${upstream}`);
  const lines = Object.keys(FEATURES).map((name) => {
    const marks = CELLS.map(({ cell }, i) => {
      const mark = passed.get(name)?.has(cell) === true ? 'yes' : 'NO';
      return mark.padEnd(heads[i]?.length ?? 0);
    });
    return [name.padEnd(width), ...marks].join('  ');
  });
  console.log([['client → upstream'.padEnd(width), ...heads].join('  '), ...lines].join('\n'));
});

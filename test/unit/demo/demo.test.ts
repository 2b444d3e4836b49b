import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type DemoUpstreams,
  type Gateway,
  createGateway,
  inspectUpstream,
  startDemoUpstreams,
} from '../../../src/gateway.js';
import { parseConfig } from '../../../src/config/config.js';
import { connectLegacyClient } from '../../peers/legacy-client.js';
import { startLegacyServer } from '../../peers/legacy-server.js';
import { connectModernClient } from '../../peers/modern-client.js';

let demo: DemoUpstreams;
let gateway: Gateway;
const clients: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  demo = await startDemoUpstreams();
  gateway = await createGateway({
    listen: { host: '127.0.0.1', port: 0 },
    logging: { level: 'silent' },
    upstreams: { legacy: { url: demo.legacy }, modern: { url: demo.modern } },
  });
});

afterAll(async () => {
  for (const client of clients) await client.close();
  await gateway.close();
  await demo.close();
});

const urlOf = (path: string) =>
  path === 'direct' ? demo : { legacy: `${gateway.url}/legacy`, modern: `${gateway.url}/modern` };

async function connect(era: 'legacy' | 'modern', url: string) {
  const peer = await (era === 'legacy' ? connectLegacyClient(url) : connectModernClient(url));
  clients.push(peer);
  return peer.client as any;
}

const CELLS = [
  ['direct', 'legacy', 'legacy'],
  ['direct', 'modern', 'modern'],
  ['through the gateway', 'legacy', 'legacy'],
  ['through the gateway', 'legacy', 'modern'],
  ['through the gateway', 'modern', 'legacy'],
  ['through the gateway', 'modern', 'modern'],
] as const;

describe.each(CELLS)('%s: a %s client of the %s demo server', (path, clientEra, serverEra) => {
  let client: any;
  beforeAll(async () => {
    client = await connect(clientEra, urlOf(path)[serverEra]);
  });

  test('lists and calls the tools', async () => {
    const { tools } = await client.listTools();
    expect(tools.map((tool: any) => tool.name)).toEqual(['echo', 'add', 'countdown', 'whoami']);
    expect(await client.callTool({ name: 'echo', arguments: { message: 'hello' } })).toMatchObject({
      content: [{ type: 'text', text: 'hello' }],
    });
    expect(await client.callTool({ name: 'add', arguments: { a: 2, b: 3 } })).toMatchObject({
      structuredContent: { sum: 5 },
    });
    expect(await client.callTool({ name: 'add', arguments: { a: 'two' } })).toMatchObject({ isError: true });
  });

  test('the server was addressed in its own era', async () => {
    const { structuredContent } = await client.callTool({ name: 'whoami' });
    expect(structuredContent).toMatchObject({ era: serverEra });
  });

  test('counts down with progress', async () => {
    const seen: number[] = [];
    const result = await client.callTool(
      { name: 'countdown', arguments: { from: 3 } },
      ...(clientEra === 'legacy' ? [undefined] : []),
      { onprogress: ({ progress }: any) => seen.push(progress) },
    );
    expect(seen).toEqual([1, 2, 3]);
    expect(result.content[0].text).toBe('Lift-off.');
  });

  test('reads the resource and gets the prompt', async () => {
    const { resources } = await client.listResources();
    const { contents } = await client.readResource({ uri: resources[0].uri });
    expect(contents[0].text).toContain('gangway');
    const { messages } = await client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } });
    expect(messages[0].content.text).toContain('Ada');
    await expect(client.readResource({ uri: 'demo://nothing' })).rejects.toThrow(/not found/i);
  });
});

describe('the demo servers on their own', () => {
  const post = (url: string, body: unknown, headers: Record<string, string> = {}) =>
    fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify(body),
    });
  const json = async (response: Response): Promise<any> => response.json();
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };

  test('the modern one refuses headers that do not match the body, and other revisions', async () => {
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } };
    const mismatch = await post(demo.modern, list, {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
    });
    expect([mismatch.status, (await json(mismatch)).error.code]).toEqual([400, -32020]);
    const other = { ...meta, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' };
    const unsupported = await post(
      demo.modern,
      { ...list, params: { _meta: other } },
      { 'mcp-protocol-version': '2099-01-01', 'mcp-method': 'tools/list' },
    );
    const { error } = await json(unsupported);
    expect([unsupported.status, error.code, error.data.supported]).toEqual([400, -32022, ['2026-07-28']]);
  });

  test('the modern one has neither GET nor unknown methods', async () => {
    expect((await fetch(demo.modern)).status).toBe(405);
    const unknown = await post(
      demo.modern,
      { jsonrpc: '2.0', id: 1, method: 'demo/unknown', params: { _meta: meta } },
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'demo/unknown' },
    );
    expect([unknown.status, (await json(unknown)).error.code]).toEqual([404, -32601]);
  });

  test('the legacy one wants a session, and ends it on DELETE', async () => {
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    expect((await post(demo.legacy, list)).status).toBe(400);
    expect((await post(demo.legacy, list, { 'mcp-session-id': 'nobody' })).status).toBe(404);
    const opened = await post(demo.legacy, {
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'test', version: '1' },
      },
    });
    expect((await json(opened)).result.protocolVersion).toBe('2025-06-18');
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id')! };
    expect((await post(demo.legacy, list, session)).status).toBe(200);
    expect((await fetch(demo.legacy, { method: 'DELETE', headers: session })).status).toBe(204);
    expect((await post(demo.legacy, list, session)).status).toBe(404);
  });

  test('neither takes requests of web pages from elsewhere', async () => {
    for (const url of [demo.legacy, demo.modern]) {
      expect((await post(url, {}, { origin: 'https://evil.example' })).status).toBe(403);
    }
  });
});

describe('inspectUpstream', () => {
  const configOf = (url: string, more = {}) =>
    parseConfig({ upstreams: { it: { url, ...more } } }).upstreams['it']!;

  test('a legacy server', async () => {
    expect(await inspectUpstream(configOf(demo.legacy))).toEqual({
      url: demo.legacy,
      era: 'legacy',
      evidence: [
        expect.stringContaining('server/discover was answered'),
        'initialize was accepted, revision 2025-11-25',
      ],
      versions: ['2025-11-25'],
      serverInfo: { name: 'legacy-demo', version: expect.any(String) },
      capabilities: { tools: {}, resources: {}, prompts: {}, logging: {} },
      offersGetStream: true,
    });
  });

  test('a modern server', async () => {
    expect(await inspectUpstream(configOf(demo.modern))).toEqual({
      url: demo.modern,
      era: 'modern',
      evidence: ['server/discover lists 2026-07-28'],
      versions: ['2026-07-28'],
      serverInfo: { name: 'modern-demo', version: expect.any(String) },
      capabilities: { tools: {}, resources: {}, prompts: {}, logging: {} },
    });
  });

  test('leaves no session behind', async () => {
    const server = await startLegacyServer();
    const { era } = await inspectUpstream(configOf(server.url));
    expect([era, server.sessionsCreated, server.sessions.size]).toEqual(['legacy', 1, 0]);
    expect(server.requests.at(-1)).toMatchObject({ httpMethod: 'DELETE', status: 200 });
    await server.close();
  });

  test('a server that is not there, pinned or not', async () => {
    for (const era of ['auto', 'legacy', 'modern']) {
      const report = await inspectUpstream(configOf('http://127.0.0.1:9/mcp', { era }));
      expect(report).toMatchObject({
        era: 'unknown',
        evidence: [],
        versions: [],
        error: { code: 'upstreamUnreachable' },
      });
    }
  });
});

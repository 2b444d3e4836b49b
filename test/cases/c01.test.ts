import { describe, expect, test } from 'vitest';
import { ERAS, startPeer } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { CLIENT_INFO, KEY, LEGACY, MODERN, POST_HEADERS, openWireSession } from '../peers/wire-client.js';
import { sendRaw } from '../peers/raw-client.js';

const RESERVED = Object.values(KEY);
const FOREIGN = { 'example.com/trace': { a: [1] }, 'io.modelcontextprotocol/ui': { resourceUri: 'ui://a' } };
const HOST_INFO = { name: 'c', version: '1' };

/** What hosts were seen to leave in `_meta`, and wrong values around it. */
const LEFTOVERS: [string, Record<string, unknown>][] = [
  ['clientInfo', { [KEY.clientInfo]: HOST_INFO }],
  ['an empty protocolVersion', { [KEY.clientInfo]: HOST_INFO, [KEY.protocolVersion]: '' }],
  ['protocolVersion 42', { [KEY.clientInfo]: HOST_INFO, [KEY.protocolVersion]: 42 }],
  ['a modern protocolVersion', { [KEY.clientInfo]: HOST_INFO, [KEY.protocolVersion]: MODERN }],
  ['a protocolVersion nobody serves', { [KEY.protocolVersion]: '2029-01-01' }],
  ['protocolVersion null', { [KEY.protocolVersion]: null }],
  ['more capabilities than declared', { [KEY.clientCapabilities]: { sampling: {}, elicitation: {} } }],
  ['a log level', { [KEY.logLevel]: 'debug' }],
  ['all six keys', Object.fromEntries(RESERVED.map((key) => [key, 'client-value']))],
];

describe.each(ERAS)('C1 reserved keys on a legacy session, %s upstream', (era) => {
  async function connected() {
    const upstream = closing(await startPeer(era));
    const gateway = closing(await startGateway(upstream.url));
    return { upstream, session: await openWireSession(gateway.url), url: gateway.url };
  }

  /** The reserved `_meta` members the upstream saw with its calls. */
  const seenBy = (upstream: Awaited<ReturnType<typeof startPeer>>, method: string) =>
    upstream.requestsFor(method).map(({ message }) => message.params._meta ?? {});

  test.each(LEFTOVERS)('C1 with %s: a legacy result, token 7 honoured', async (_, leftovers) => {
    const { upstream, session } = await connected();
    const response = await session.request(
      1,
      'tools/call',
      { name: 'test_tool_with_progress', _meta: { ...leftovers, progressToken: 7, ...FOREIGN } },
      { 'mcp-protocol-version': LEGACY },
    );
    expect(response.status).toBe(200);
    const { result, id } = await response.rpc();
    expect(id).toBe(1);
    expect(result.content).toHaveLength(1);
    expect(result).not.toHaveProperty('resultType');
    expect(JSON.stringify(result._meta ?? {})).not.toContain(KEY.serverInfo);
    const tokens = response.messages
      .filter(({ method }) => method === 'notifications/progress')
      .map(({ params }) => params.progressToken);
    expect(tokens).toEqual([7, 7, 7]);

    const [meta, ...more] = seenBy(upstream, 'tools/call');
    expect(more).toEqual([]);
    expect(meta).toMatchObject(FOREIGN);
    if (era === 'legacy') {
      expect(Object.keys(meta).filter((key) => RESERVED.includes(key as never))).toEqual([]);
    } else {
      expect(meta).toMatchObject({
        [KEY.protocolVersion]: MODERN,
        [KEY.clientInfo]: CLIENT_INFO,
        [KEY.clientCapabilities]: {},
        // The gateway's own, since the session set no level.
        [KEY.logLevel]: 'info',
      });
      expect(meta).not.toHaveProperty([KEY.subscriptionId]);
      expect(meta).not.toHaveProperty([KEY.serverInfo]);
    }
  });

  test('C1 a _meta with nothing else in it is gone towards a legacy upstream, replaced towards a modern one', async () => {
    const { upstream, session } = await connected();
    const { status } = await session.call('tools/list', { _meta: { [KEY.clientInfo]: HOST_INFO } });
    expect(status).toBe(200);
    const [seen] = upstream.requestsFor('tools/list');
    if (era === 'legacy') expect(seen?.message.params).not.toHaveProperty('_meta');
    else expect(seen?.message.params._meta[KEY.clientInfo]).toEqual(CLIENT_INFO);
    expect(seen?.body).not.toContain(JSON.stringify(HOST_INFO));
  });

  test('C1 on initialize, on a notification and on a list', async () => {
    const { upstream, url } = await connected();
    const meta = { [KEY.clientInfo]: HOST_INFO, [KEY.logLevel]: 'debug' };
    const initialize = {
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion: LEGACY, capabilities: {}, clientInfo: CLIENT_INFO, _meta: meta },
    };
    const response = await sendRaw(url, { headers: POST_HEADERS, body: JSON.stringify(initialize) });
    expect(response.status).toBe(200);
    expect(await response.rpc()).toMatchObject({ id: 0, result: { protocolVersion: LEGACY } });
    const headers = { 'mcp-session-id': String(response.headers['mcp-session-id']), ...POST_HEADERS };
    const initialized = { jsonrpc: '2.0', method: 'notifications/initialized', params: { _meta: meta } };
    const accepted = await sendRaw(url, { headers, body: JSON.stringify(initialized) });
    expect(accepted.status).toBe(202);
    const list = await sendRaw(url, {
      headers,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'prompts/list', params: { _meta: meta } }),
    });
    expect((await list.rpc()).result.prompts).not.toEqual([]);
    const bodies = upstream.requests.map(({ body }) => body).filter((body) => body.includes('"c"'));
    expect(bodies).toEqual([]);
  });

  test('C1 a string token and the token 0 keep their type', async () => {
    const { session } = await connected();
    for (const progressToken of ['7', 0, '']) {
      const response = await session.request(2, 'tools/call', {
        name: 'test_tool_with_progress',
        _meta: { [KEY.protocolVersion]: MODERN, progressToken },
      });
      await response.rpc();
      const seen = response.messages
        .map(({ params }) => params?.progressToken)
        .filter((t) => t !== undefined);
      expect(seen).toEqual([progressToken, progressToken, progressToken]);
    }
  });
});

import { describe, expect, test } from 'vitest';
import { ERAS, startPeer } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { startLegacyServer } from '../peers/legacy-server.js';
import { sendRaw } from '../peers/raw-client.js';
import {
  CLIENT_INFO,
  LEGACY,
  LEGACY_REVISIONS,
  MODERN,
  POST_HEADERS,
  initializeText,
  modernMeta,
  openWireSession,
  requestText,
} from '../peers/wire-client.js';

/** `initialize` with any `protocolVersion`; none when it is undefined. */
const initializeWith = (protocolVersion: unknown, id: string | number = 1): string =>
  requestText(id, 'initialize', { protocolVersion, capabilities: {}, clientInfo: CLIENT_INFO });

describe.each(ERAS)('C3 the version initialize asks for, %s upstream', (era) => {
  async function gatewayUrl() {
    const upstream = closing(await startPeer(era));
    return closing(await startGateway(upstream.url)).url;
  }

  const post = (url: string, body: string, headers: Record<string, string> = {}) =>
    sendRaw(url, { headers: { ...POST_HEADERS, ...headers }, body });

  test.each([MODERN, '2029-01-01', 'draft', '', undefined, 42, null, '2025-11-2', '2025-11-25 '])(
    'C3 %j is answered with 2025-11-25',
    async (asked) => {
      const response = await post(await gatewayUrl(), initializeWith(asked));
      expect(response.status).toBe(200);
      const { result } = await response.rpc();
      expect(result.protocolVersion).toBe(LEGACY);
      expect(result.serverInfo.name).toBe(`${era}-peer`);
      expect(result.capabilities.tools).toBeDefined();
    },
  );

  test.each(LEGACY_REVISIONS)('C3 %s is answered with itself', async (asked) => {
    const response = await post(await gatewayUrl(), initializeWith(asked));
    expect((await response.rpc()).result.protocolVersion).toBe(asked);
  });

  test.each([0, '0', '', -1, 'ä', 1.5])('C3 the id %j comes back with its type', async (id) => {
    const response = await post(await gatewayUrl(), initializeText({ id }));
    expect((await response.rpc()).id).toBe(id);
  });

  test.each([MODERN, '2025-06-18', 'nonsense'])(
    'C3 a version header %s on initialize is ignored',
    async (named) => {
      const response = await post(await gatewayUrl(), initializeText({ id: 0 }), {
        'mcp-protocol-version': named,
        'mcp-method': 'initialize',
      });
      expect(response.status).toBe(200);
      expect(await response.rpc()).toMatchObject({ id: 0, result: { protocolVersion: LEGACY } });
    },
  );

  test('C3 the session id is new, long and visible ASCII; one that was sent is ignored', async () => {
    const url = await gatewayUrl();
    const first = await openWireSession(url);
    const response = await post(url, initializeText(), { 'mcp-session-id': first.id });
    expect(response.status).toBe(200);
    const second = String(response.headers['mcp-session-id']);
    expect(second).not.toBe(first.id);
    // 128 random bits in base64url are 22 characters.
    expect(second).toMatch(/^[\x21-\x7e]{22,}$/);
    const unknown = await post(url, initializeText(), { 'mcp-session-id': 'never-seen' });
    expect(unknown.status).toBe(200);
    expect((await first.call('tools/list')).status).toBe(200);
  });

  test('C3 a modern _meta does not make it modern, unless the version of the body is missing', async () => {
    const url = await gatewayUrl();
    const params = { protocolVersion: LEGACY, capabilities: {}, clientInfo: CLIENT_INFO };
    const hybrid = await post(url, requestText(1, 'initialize', { ...params, _meta: modernMeta() }));
    expect((await hybrid.rpc()).result.protocolVersion).toBe(LEGACY);
    const modern = await post(url, requestText(2, 'initialize', { _meta: modernMeta() }), {
      'mcp-protocol-version': MODERN,
      'mcp-method': 'initialize',
    });
    expect(modern.status).toBe(404);
    expect(await modern.rpc()).toMatchObject({ id: 2, error: { code: -32601 } });
  });
});

test('C3 an older upstream decides: its answer is given back, and the session is at that revision', async () => {
  const upstream = closing(await startLegacyServer({ newestRevision: '2025-06-18' }));
  const gateway = closing(await startGateway(upstream.url));
  const session = await openWireSession(gateway.url, { revision: LEGACY });
  expect(session.revision).toBe('2025-06-18');
  expect(upstream.requestsFor('initialize')[0]?.message.params.protocolVersion).toBe(LEGACY);
  expect((await session.call('tools/list')).message.result.tools).not.toEqual([]);
  expect(upstream.requestsFor('tools/list')[0]?.headers['mcp-protocol-version']).toBe('2025-06-18');
});

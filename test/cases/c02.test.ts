import { describe, expect, test } from 'vitest';
import { ERAS, startPeer } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { sendRaw } from '../peers/raw-client.js';
import {
  LEGACY_REVISIONS,
  MODERN,
  POST_HEADERS,
  openWireSession,
  requestText,
} from '../peers/wire-client.js';

describe.each(ERAS)('C2 the header names another version than the session, %s upstream', (era) => {
  async function session(revision?: string) {
    const upstream = closing(await startPeer(era));
    const gateway = closing(await startGateway(upstream.url));
    return openWireSession(gateway.url, revision === undefined ? {} : { revision });
  }

  test.each([MODERN, ...LEGACY_REVISIONS])('C2 header %s: served as the session', async (named) => {
    const live = await session();
    const headers = { 'mcp-protocol-version': named };
    const response = await live.request('a', 'tools/call', { name: 'test_simple_text' }, headers);
    expect(response.status).toBe(200);
    const { result } = await response.rpc();
    expect(result.content[0].text).toContain('simple text');
    expect(result).not.toHaveProperty('resultType');
    const notified = await live.notify('notifications/initialized', undefined, headers);
    expect(notified.status).toBe(202);
    const stream = closing(await live.get(undefined, headers));
    expect(stream.status).toBe(200);
  });

  test('C2 a session of an older revision stays at it whatever the header says', async () => {
    const live = await session('2025-06-18');
    const response = await live.request(
      1,
      'tools/call',
      { name: 'probe_slow', arguments: { ms: 20, tickMs: 20 }, _meta: { progressToken: 't' } },
      { 'mcp-protocol-version': '2025-11-25' },
    );
    await response.rpc();
    expect(response.isStream).toBe(true);
    expect(response.blocks.filter(({ data }) => data === '')).toEqual([]);
  });

  test('C2 no header at all: served as the session', async () => {
    const live = await session();
    const headers = { ...POST_HEADERS, 'mcp-session-id': live.id };
    const response = await sendRaw(live.url, { headers, body: requestText(1, 'prompts/list') });
    expect(response.status).toBe(200);
    expect((await response.rpc()).result.prompts).not.toEqual([]);
  });

  test.each(['not-a-version', '2029-01-01', 'draft', '2025-11-25, 2026-07-28'])(
    'C2 header %j: 400 with the id of the request, and the session lives on',
    async (named) => {
      const live = await session();
      const headers = { 'mcp-protocol-version': named };
      const refused = await live.request('r', 'tools/list', undefined, headers);
      expect(refused.status).toBe(400);
      expect(await refused.rpc()).toMatchObject({ jsonrpc: '2.0', id: 'r', error: { code: -32600 } });
      expect((await live.get(undefined, headers)).status).toBe(400);
      expect((await live.delete(headers)).status).toBe(400);
      expect((await live.call('tools/list')).message.result.tools).not.toEqual([]);
    },
  );

  test.each([MODERN, '2025-11-25', 'not-a-version'])(
    'C2 header %s after the session died: 404, so that the host starts again',
    async (named) => {
      const live = await session();
      expect((await live.delete()).status).toBe(204);
      const headers = { 'mcp-protocol-version': named };
      const refused = await live.request(7, 'tools/list', undefined, headers);
      expect(refused.status).toBe(404);
      expect(await refused.rpc()).toMatchObject({ id: 7, error: { code: expect.any(Number) } });
    },
  );
});

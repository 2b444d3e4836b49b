import { describe, expect, test } from 'vitest';
import { ERAS, startPeer } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { type RawResponse, isResponse } from '../peers/raw-client.js';
import { LEGACY_REVISIONS, openWireSession } from '../peers/wire-client.js';

const OLDER = LEGACY_REVISIONS.filter((revision) => revision !== '2025-11-25');

/** A call whose answer is a stream of three progress events and the result. */
const STREAMING = { name: 'test_tool_with_progress', _meta: { progressToken: 'p' } };

const dataLines = (response: RawResponse): string[] =>
  response.blocks.flatMap(({ data }) => (data === undefined ? [] : [data]));

describe.each(ERAS)('C9 priming, %s upstream', (era) => {
  async function session(revision: string) {
    const upstream = closing(await startPeer(era));
    const gateway = closing(await startGateway(upstream.url, { timeouts: { streamCommitMs: 40 } }));
    return { upstream, live: await openWireSession(gateway.url, { revision }) };
  }

  test.each(OLDER)('C9 %s: every data line of a POST stream is non-empty JSON', async (revision) => {
    const { live } = await session(revision);
    const response = await live.request(1, 'tools/call', STREAMING);
    await response.text();
    expect(response.isStream).toBe(true);
    const lines = dataLines(response);
    expect(lines).toHaveLength(4);
    expect(lines.map((line) => JSON.parse(line).jsonrpc)).toEqual(['2.0', '2.0', '2.0', '2.0']);
    expect(response.blocks.some(({ id, data }) => id !== undefined && data === undefined)).toBe(false);
  });

  test.each(OLDER)(
    'C9 %s: nor is there an empty one when the stream is opened by the clock',
    async (revision) => {
      const { live } = await session(revision);
      const response = await live.request(1, 'tools/call', { name: 'probe_slow', arguments: { ms: 120 } });
      await response.text();
      expect(dataLines(response).map((line) => isResponse(JSON.parse(line)))).toEqual([true]);
    },
  );

  test.each(OLDER)('C9 %s: the GET stream begins with a comment, not with an event', async (revision) => {
    const { live } = await session(revision);
    const stream = closing(await live.get());
    const first = await stream.next(() => true);
    expect(first).toMatchObject({ comment: '' });
    expect(first).not.toHaveProperty('data');
    // A call behind it: had the stream been primed, that would have come before its answer.
    await live.call('tools/list');
    expect(dataLines(stream)).toEqual([]);
  });

  test('C9 2025-11-25: the first event of a POST stream has an id and empty data', async () => {
    const { live } = await session('2025-11-25');
    const response = await live.request(1, 'tools/call', STREAMING);
    await response.text();
    const events = response.blocks.filter(({ data }) => data !== undefined);
    expect(events[0]).toMatchObject({ id: expect.stringMatching(/^[\x21-\x7e]+$/), data: '' });
    expect(events.slice(1).map(({ data }) => JSON.parse(data ?? '').jsonrpc)).toEqual(Array(4).fill('2.0'));
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  });

  test('C9 2025-11-25: the priming id resumes from the very beginning', async () => {
    const { live } = await session('2025-11-25');
    const response = await live.request(1, 'tools/call', STREAMING);
    const { id } = await response.next(({ data }) => data === '');
    await response.text();
    const resumed = await live.get(id);
    await resumed.text();
    expect(resumed.messages).toEqual(response.messages);
    expect(resumed.messages).toHaveLength(4);
  });

  test('C9 2025-11-25: so has the first event of the GET stream', async () => {
    const { live } = await session('2025-11-25');
    const stream = closing(await live.get());
    const first = await stream.next(({ data }) => data !== undefined);
    expect(first).toMatchObject({ id: expect.any(String), data: '' });
  });

  test('C9 an answer in JSON needs no priming', async () => {
    const { live } = await session('2025-06-18');
    const response = await live.request(1, 'ping');
    expect(response.headers['content-type']).toBe('application/json');
    expect(await response.rpc()).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  });
});

import { once } from 'node:events';
import { afterEach, describe, expect, test } from 'vitest';
import { connectLegacyClient } from './legacy-client.js';
import { startLegacyServer } from './legacy-server.js';
import { connectModernClient } from './modern-client.js';
import { startModernServer } from './modern-server.js';
import { agreeable } from './question-handlers.js';

const open: { close(): Promise<void> }[] = [];

/** Closes in reverse order at the end of the test, clients before their servers. */
function closing<T extends { close(): Promise<void> }>(resource: T): T {
  open.push(resource);
  return resource;
}

afterEach(async () => {
  for (const resource of open.splice(0).reverse()) await resource.close();
});

const textOf = (result: any): string => result.content[0].text;

describe('legacy peers', () => {
  async function connected() {
    const server = closing(await startLegacyServer());
    const peer = closing(await connectLegacyClient(server.url, agreeable));
    return { server, ...peer };
  }

  test('a session counts its calls, and another session has its own counter', async () => {
    const { server, client } = await connected();
    const other = closing(await connectLegacyClient(server.url));
    await client.callTool({ name: 'probe_counter' });
    expect(textOf(await client.callTool({ name: 'probe_counter' }))).toBe('2');
    expect(textOf(await other.client.callTool({ name: 'probe_counter' }))).toBe('1');
    expect(server.sessionsCreated).toBe(2);
  });

  test('questions arrive as requests and their answers reach the tool', async () => {
    const { client } = await connected();
    expect(textOf(await client.callTool({ name: 'probe_two_rounds' }))).toBe('Ada / hi');
    const all = await client.callTool({ name: 'test_input_required_result_multiple_inputs' });
    expect(textOf(all)).toBe('hi Ada - 1 root(s) visible');
  });

  test('a stream closed by the server is resumed', async () => {
    const { server, client } = await connected();
    expect(textOf(await client.callTool({ name: 'test_reconnection' }))).toContain('completed');
    expect(server.requests.some((request) => request.headers['last-event-id'] !== undefined)).toBe(true);
  });

  test('a cancelled call is recorded with the id and the reason', async () => {
    const { server, client } = await connected();
    const abort = new AbortController();
    const call = client.callTool({ name: 'probe_slow', arguments: { ms: 5000, tickMs: 50 } }, undefined, {
      signal: abort.signal,
    });
    const settled = expect(call).rejects.toThrow();
    await once(server.log, 'run');
    const aborted = once(server.log, 'aborted');
    abort.abort('stop');
    await aborted;
    await settled;
    expect(server.cancelled[0]?.requestId).toBe(server.log.runs[0]?.requestId);
    expect(server.aborted[0]?.name).toBe('probe_slow');
  });

  test('changes arrive on the GET stream, updates only for what was subscribed', async () => {
    const { client, notifications } = await connected();
    await client.subscribeResource({ uri: 'test://watched-resource' });
    for (const kind of ['tools', 'updated'])
      await client.callTool({ name: 'probe_trigger_change', arguments: { kind } });
    await expect
      .poll(() => notifications.map((seen) => seen.method))
      .toEqual(['notifications/tools/list_changed', 'notifications/resources/updated']);
  });

  test('a required URL is completed out of band', async () => {
    const { client, notifications } = await connected();
    const call = () => client.callTool({ name: 'probe_url_required', arguments: { ms: 20 } });
    await expect(call()).rejects.toMatchObject({ code: -32042, data: { elicitations: [{ mode: 'url' }] } });
    await expect
      .poll(() => notifications.map((seen) => seen.method))
      .toEqual(['notifications/elicitation/complete']);
    expect(textOf(await call())).toBe('authorized');
  });

  test('a question may come on the standalone stream, and may be withdrawn', async () => {
    const { client } = await connected();
    expect(textOf(await client.callTool({ name: 'probe_ask_detached' }))).toContain('Ada');
    const server = closing(await startLegacyServer());
    const slow = { onElicit: () => new Promise<never>(() => undefined) };
    const other = closing(await connectLegacyClient(server.url, slow));
    const withdrawn = await other.client.callTool({ name: 'probe_withdraw', arguments: { ms: 30 } });
    expect(textOf(withdrawn)).toBe('withdrawn');
  });

  test('an older server is used at its revision', async () => {
    const server = closing(await startLegacyServer({ newestRevision: '2025-06-18' }));
    const { transport } = closing(await connectLegacyClient(server.url));
    expect(transport.protocolVersion).toBe('2025-06-18');
  });
});

describe('modern peers', () => {
  async function connected(mode: 'pin' | 'auto' = 'pin') {
    const server = closing(await startModernServer());
    const peer = closing(await connectModernClient(server.url, { ...agreeable, mode }));
    return { server, ...peer };
  }

  test.each(['pin', 'auto'] as const)('mode %s speaks the modern era', async (mode) => {
    const { server, client } = await connected(mode);
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
    expect(textOf(await client.callTool({ name: 'test_simple_text' }))).toContain('simple text');
    expect(server.requests.map((request) => request.method)).not.toContain('initialize');
  });

  test('questions arrive as input_required and the retry completes', async () => {
    const { server, client } = await connected();
    expect(textOf(await client.callTool({ name: 'probe_two_rounds' }))).toBe('Ada / hi');
    expect(server.requestsFor('tools/call')).toHaveLength(3);
    const read = await client.readResource({ uri: 'test://asks-first' });
    expect(read.contents[0]).toMatchObject({ text: 'Topic: accept' });
  });

  test('structuredContent may be an array', async () => {
    const { client } = await connected();
    const result = await client.callTool({ name: 'probe_array', arguments: { n: 3 } });
    expect(result.structuredContent).toEqual([0, 1, 2]);
  });

  test('closing the response stream aborts the call', async () => {
    const { server, client } = await connected();
    const abort = new AbortController();
    const call = client.callTool(
      { name: 'probe_slow', arguments: { ms: 5000, tickMs: 50 } },
      { signal: abort.signal },
    );
    const settled = expect(call).rejects.toThrow();
    await once(server.log, 'run');
    const aborted = once(server.log, 'aborted');
    abort.abort('stop');
    await aborted;
    await settled;
    expect(server.cancelled).toEqual([]);
    expect(server.log.finished).toEqual([]);
  });

  test('initialize is refused', async () => {
    const { server } = await connected();
    await expect(connectLegacyClient(server.url)).rejects.toThrow(/Unsupported protocol version/);
  });

  test('changes arrive on the listen stream that asked for them', async () => {
    const { server, client, notifications } = await connected();
    const subscription = await client.listen({ toolsListChanged: true });
    await server.announce('prompts');
    await server.announce('tools');
    await expect
      .poll(() => notifications.map((seen) => seen.method))
      .toEqual(['notifications/tools/list_changed']);
    await subscription.close();
  });
});

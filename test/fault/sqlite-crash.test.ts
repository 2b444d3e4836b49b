import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, test } from 'vitest';
import { ERAS } from '../peers/cells.js';
import { at, callParams, startUpstream, summary } from '../peers/driven-upstream.js';
import { startKillableGateway } from '../peers/killable-gateway.js';
import { openWireSession } from '../peers/wire-client.js';
import { temporaryFolder } from '../peers/temporary-folder.js';

/** The gateway's code for a call whose outcome nobody knows. */
const OUTCOME_UNKNOWN = -31003;

const newStore = () => ({
  kind: 'sqlite',
  path: join(temporaryFolder(), 'store.db'),
});

describe.each(ERAS)('kill -9 in mid-call with a sqlite store, %s upstream', (era) => {
  test('the rest of the log, then an error for the request that died; the session lives on', async () => {
    const upstream = await startUpstream(era);
    const store = newStore();
    const first = await startKillableGateway(upstream.server.url, { store });
    const session = await openWireSession(first.url);
    const response = await session.request('call', 'tools/call', callParams('call'));
    await upstream.seen('call');
    upstream.progress('call', 1);
    const { id } = await response.next();
    upstream.progress('call', 2);
    upstream.progress('call', 3);
    await response.next();
    await response.next();
    await first.kill();

    const second = await startKillableGateway(upstream.server.url, { store });
    const again = at(second.url, session);
    const resumed = await again.get(id);
    expect(resumed.status).toBe(200);
    await resumed.text();
    expect(summary(resumed)).toEqual(['call:2', 'call:3', `call=${OUTCOME_UNKNOWN}`]);
    const twice = await again.get(id);
    await twice.text();
    expect(summary(twice)).toEqual(summary(resumed));

    const next = await again.request('next', 'tools/call', callParams('next'));
    await upstream.seen('next');
    upstream.progress('next', 1);
    upstream.finish('next');
    await next.text();
    expect(summary(next)).toEqual(['next:1', 'next=next']);
    if (era === 'legacy') {
      expect(upstream.server.requestsFor('initialize')).toHaveLength(1);
      const [before, after] = upstream.server.requestsFor('tools/call');
      expect(after?.headers['mcp-session-id']).toBe(before?.headers['mcp-session-id']);
    }
  });

  test('a result that was there before the crash is delivered after it, once', async () => {
    const upstream = await startUpstream(era);
    const store = newStore();
    const first = await startKillableGateway(upstream.server.url, { store });
    const session = await openWireSession(first.url);
    const response = await session.request(7, 'tools/call', callParams('call'));
    await upstream.seen('call');
    upstream.progress('call', 1);
    const { id } = await response.next();
    response.close();
    upstream.finish('call');
    // The other stream's result comes behind the first one's: when it is there, both are kept.
    const other = await session.request(8, 'tools/call', callParams('other'));
    await upstream.seen('other');
    upstream.progress('other', 1);
    upstream.finish('other');
    await other.text();
    await first.kill();

    const second = await startKillableGateway(upstream.server.url, { store });
    const resumed = await at(second.url, session).get(id);
    await resumed.text();
    expect(summary(resumed)).toEqual(['7=call']);
  });

  test('killed at any moment: what the client has and what it is given make the log without gap or double', async () => {
    const upstream = await startUpstream(era);
    const store = newStore();
    const first = await startKillableGateway(upstream.server.url, { store });
    const session = await openWireSession(first.url);
    const labels = ['a', 'b', 'c', 'd'];
    const responses = await Promise.all(
      labels.map(async (label) => {
        const responding = session.request(label, 'tools/call', callParams(label));
        await upstream.seen(label);
        upstream.progress(label, 0);
        return responding;
      }),
    );
    await Promise.all(responses.map((response) => response.next()));
    let value = 0;
    const talking = setInterval(() => {
      value++;
      for (const label of labels) for (let i = 0; i < 5; i++) upstream.progress(label, value * 10 + i);
    }, 1);
    for (const response of responses) {
      await expect.poll(() => response.messages.length, { interval: 1, timeout: 8000 }).toBeGreaterThan(30);
    }
    await first.kill();
    clearInterval(talking);
    await Promise.all(responses.map((response) => response.ended));

    const second = await startKillableGateway(upstream.server.url, { store });
    const again = at(second.url, session);
    for (const [index, response] of responses.entries()) {
      const label = labels[index] ?? '';
      const resumed = await again.get(response.blocks.findLast((block) => block.id !== undefined)?.id);
      await resumed.text();
      const all = [...summary(response), ...summary(resumed)];
      expect(all.at(-1)).toBe(`${label}=${OUTCOME_UNKNOWN}`);
      const values = all.slice(0, -1).map((text) => Number(text.split(':')[1]));
      expect(values.length).toBeGreaterThan(10);
      const sent = [0];
      for (let v = 1; v <= value; v++) for (let i = 0; i < 5; i++) sent.push(v * 10 + i);
      expect(values).toEqual(sent.slice(0, values.length));
    }
  });

  test('the SDK v1 client, restarted with its token alone, is answered', async () => {
    const upstream = await startUpstream(era);
    const store = newStore();
    const first = await startKillableGateway(upstream.server.url, { store });
    const client = new Client({ name: 'c', version: '1' });
    const transport = new StreamableHTTPClientTransport(new URL(first.url));
    await client.connect(transport);
    let token: string | undefined;
    const calling = client.request(
      { method: 'tools/call', params: callParams('call') },
      CallToolResultSchema,
      { onresumptiontoken: (value) => (token = value), onprogress: () => undefined },
    );
    calling.catch(() => undefined);
    await upstream.seen('call');
    upstream.progress('call', 1);
    await expect.poll(() => token).toBeDefined();
    const { sessionId } = transport;
    await first.kill();
    await client.close();

    const second = await startKillableGateway(upstream.server.url, { store });
    const later = new Client({ name: 'c', version: '1' });
    await later.connect(
      new StreamableHTTPClientTransport(new URL(second.url), sessionId === undefined ? {} : { sessionId }),
    );
    // The SDK puts the new request's id on a replayed result, but not on an error: the two ids must be the same.
    await later.ping();
    const resumed = later.request(
      { method: 'tools/call', params: callParams('call') },
      CallToolResultSchema,
      {
        ...(token !== undefined && { resumptionToken: token }),
        timeout: 8000,
      },
    );
    await expect(resumed).rejects.toMatchObject({ code: OUTCOME_UNKNOWN });
    await later.close();
  });

  test('a session that was deleted stays so', async () => {
    const upstream = await startUpstream(era);
    const store = newStore();
    const first = await startKillableGateway(upstream.server.url, { store });
    const session = await openWireSession(first.url);
    expect((await session.delete()).status).toBe(204);
    // The next session is kept behind the deletion.
    await openWireSession(first.url);
    await first.kill();
    const second = await startKillableGateway(upstream.server.url, { store });
    expect((await at(second.url, session).request(1, 'ping')).status).toBe(404);
  });
});

test('neither a session id nor a credential is in the file', async () => {
  const upstream = await startUpstream('legacy');
  const store = newStore();
  const gateway = await startKillableGateway(upstream.server.url, { store });
  const session = await openWireSession(gateway.url, { headers: { authorization: 'Bearer token-of-a' } });
  await gateway.kill();
  const bytes = ['', '-wal'].map((end) => readFileSync(store.path + end, 'latin1')).join('');
  expect(bytes).toContain('wire-client');
  expect(bytes).not.toContain(session.id);
  expect(bytes).not.toContain('token-of-a');
});

import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type RunningGateway, startGateway } from '../peers/gateway.js';
import { type LegacyServer, startLegacyServer } from '../peers/legacy-server.js';
import { type ModernServer, startModernServer } from '../peers/modern-server.js';
import { sendRaw } from '../peers/raw-client.js';
import { type RedisServer, startRedis } from '../peers/redis-server.js';
import {
  KEY,
  WireSession,
  modernText,
  openWireSession,
  postModern,
  requestText,
} from '../peers/wire-client.js';

let redis: RedisServer;
let legacy: LegacyServer;
let modern: ModernServer;
const gateways: RunningGateway[] = [];

async function pair(upstreamUrl: string): Promise<{ a: string; b: string }> {
  const cluster = { url: redis.url };
  const a = await startGateway(upstreamUrl, { cluster });
  const b = await startGateway(upstreamUrl, { cluster });
  gateways.push(a, b);
  return { a: a.url, b: b.url };
}

/** The same session, spoken to through another instance. */
function through(url: string, session: WireSession): WireSession {
  return new WireSession(url, session.id, session.revision, session.initialize, {});
}

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(async () => {
  await redis.stop();
});
beforeEach(async () => {
  legacy = await startLegacyServer();
  modern = await startModernServer();
});
afterEach(async () => {
  await Promise.all(gateways.splice(0).map((gateway) => gateway.close()));
  await Promise.all([legacy.close(), modern.close()]);
});

describe('several instances on Redis', () => {
  it('X3 any instance takes a request of a session that another holds', async () => {
    const { a, b } = await pair(modern.url);
    const session = await openWireSession(a);
    const answer = await (await through(b, session).request(7, 'tools/list')).rpc();
    expect(answer.id).toBe(7);
    expect(answer.result.tools.length).toBeGreaterThan(3);
  });

  it('X3 a session is unknown to another principal on every instance', async () => {
    const { a, b } = await pair(modern.url);
    const session = await openWireSession(a, { headers: { authorization: 'Bearer one' } });
    const foreign = await through(b, session).request(1, 'tools/list', undefined, {
      authorization: 'Bearer two',
    });
    expect(foreign.status).toBe(404);
    const own = await through(b, session).request(1, 'tools/list', undefined, {
      authorization: 'Bearer one',
    });
    expect(own.status).toBe(200);
  });

  it('X21 a call that runs on one instance is resumed on another, exactly once', async () => {
    const { a, b } = await pair(modern.url);
    const session = await openWireSession(a);
    const call = await session.request(1, 'tools/call', {
      name: 'probe_slow',
      arguments: { ms: 1200, tickMs: 200 },
      _meta: { progressToken: 't' },
    });
    const first = await call.next((block) => block.data?.includes('progress') === true);
    call.close();
    const resumed = await sendRaw(b, {
      method: 'GET',
      headers: { ...session.headers, accept: 'text/event-stream', 'last-event-id': first.id! },
    });
    expect(await resumed.ended).toBe('finished');
    const messages = resumed.messages;
    const progress = messages.filter((message) => message.method === 'notifications/progress');
    expect(progress.map((message) => message.params.progress)).toEqual(
      [2, 3, 4, 5, 6].slice(0, progress.length),
    );
    expect(messages.at(-1)).toMatchObject({ id: 1, result: {} });
    expect(messages.filter((message) => message.id === 1)).toHaveLength(1);
  });

  it('X20 a call that runs on one instance is cancelled through another', async () => {
    const { a, b } = await pair(legacy.url);
    const session = await openWireSession(a);
    const cancelled = once(legacy.log, 'cancelled');
    const running = once(legacy.log, 'run');
    const call = await session.request(1, 'tools/call', {
      name: 'probe_slow',
      arguments: { ms: 20_000, tickMs: 100 },
      _meta: { progressToken: 1 },
    });
    await running;
    const notice = JSON.stringify({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 1 },
    });
    expect((await through(b, session).post(notice)).status).toBe(202);
    await cancelled;
    await call.ended;
    expect(call.messages.filter((message) => message.id === 1)).toHaveLength(0);
  });

  it('X16 a question asked by one instance is answered through another', async () => {
    const { a, b } = await pair(modern.url);
    const session = await openWireSession(a, { capabilities: { elicitation: {} } });
    const call = await session.request(1, 'tools/call', { name: 'probe_elicit_form', arguments: {} });
    const question = await call.nextMessage();
    expect(question.method).toBe('elicitation/create');
    const answer = {
      jsonrpc: '2.0',
      id: question.id,
      result: { action: 'accept', content: { name: 'Ada' } },
    };
    expect((await through(b, session).post(JSON.stringify(answer))).status).toBe(202);
    const result = await call.next((block) => block.data?.includes('"result"') === true);
    expect(JSON.parse(result.data!)).toMatchObject({ id: 1 });
    expect(result.data).toContain('Ada');
  });

  it('X16 any instance takes the retry of a parked call', async () => {
    const { a, b } = await pair(legacy.url);
    const meta = { [KEY.clientCapabilities]: { elicitation: { form: {} } } };
    const params = { name: 'probe_elicit_form', arguments: {} };
    const first = await (await postModern(a, modernText(1, 'tools/call', params, meta))).rpc();
    expect(first.result.resultType).toBe('input_required');
    const [key] = Object.keys(first.result.inputRequests);
    const retry = {
      ...params,
      inputResponses: { [key!]: { action: 'accept', content: { name: 'Grace' } } },
      requestState: first.result.requestState,
    };
    const second = await (await postModern(b, modernText(2, 'tools/call', retry, meta))).rpc();
    expect(second).toMatchObject({ id: 2, result: { resultType: 'complete' } });
    expect(JSON.stringify(second)).toContain('Grace');
    expect(legacy.log.runs.filter((run) => run.name === 'probe_elicit_form')).toHaveLength(1);
  });

  it('X3 DELETE through one instance ends the session on another', async () => {
    const { a, b } = await pair(modern.url);
    const session = await openWireSession(a);
    const gone = await sendRaw(b, { method: 'DELETE', headers: session.headers });
    expect(gone.status).toBe(204);
    expect((await session.request(1, 'tools/list')).status).toBe(404);
  });

  it('X3 a session whose instance is gone is answered 404, at once', async () => {
    const { a, b } = await pair(modern.url);
    const session = await openWireSession(a);
    await gateways[0]!.close();
    const answer = await through(b, session).request(3, 'tools/list');
    expect(answer.status).toBe(404);
    expect((await answer.rpc()).id).toBe(3);
  });

  it('large bodies pass between instances whole', async () => {
    const { a, b } = await pair(modern.url);
    const session = await openWireSession(a);
    const text = 'ä'.repeat(700_000);
    const body = requestText(1, 'tools/call', { name: 'probe_echo', arguments: { value: text } });
    const answer = await (await through(b, session).post(body)).rpc();
    expect(JSON.stringify(answer)).toContain(text);
  });

  it('while Redis is away sessions elsewhere answer 503, sessions here work, and both do when it is back', async () => {
    const { a, b } = await pair(modern.url);
    const session = await openWireSession(a);
    await redis.kill();
    const elsewhere = await through(b, session).request(4, 'tools/list');
    expect(elsewhere.status).toBe(503);
    expect(elsewhere.headers['retry-after']).toBeDefined();
    expect((await elsewhere.rpc()).id).toBe(4);
    expect((await session.request(5, 'tools/list')).status).toBe(200);
    await redis.restart();
    await expect
      .poll(async () => (await through(b, session).request(6, 'tools/list')).status, {
        timeout: 10_000,
        interval: 200,
      })
      .toBe(200);
  });
});

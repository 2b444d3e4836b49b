import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { startUpstream, callParams } from '../peers/driven-upstream.js';
import { startGateway } from '../peers/gateway.js';
import { startKillableGateway } from '../peers/killable-gateway.js';
import { type RedisServer, startRedis } from '../peers/redis-server.js';
import {
  type ScriptedStream,
  legacyScript,
  openStream,
  resultText,
  startScriptedServer,
} from '../peers/scripted-server.js';
import { WireSession, openWireSession } from '../peers/wire-client.js';

let redis: RedisServer;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(async () => {
  await redis.stop();
});

/** The same session, spoken to through another instance. */
const through = (url: string, { id, revision, initialize }: WireSession) =>
  new WireSession(url, id, revision, initialize, {});

/** Instances are believed to live for some seconds after their last sign of life. */
const PATIENCE = { timeout: 15_000, interval: 100 };

describe('an instance that dies with requests of others under way', () => {
  test('C20 as their owner: clients elsewhere are answered, and streams there end', async () => {
    const upstream = closing(await startScriptedServer(legacyScript(() => undefined)));
    const settings = { cluster: { url: redis.url }, timeouts: { streamCommitMs: 60_000 } };
    const owner = await startKillableGateway(upstream.url, settings);
    const taker = closing(await startGateway(upstream.url, settings));
    const session = await openWireSession(owner.url);
    const elsewhere = through(taker.url, session);
    const stream = await elsewhere.get();
    const call = elsewhere.request(7, 'tools/call', { name: 't' });
    await expect.poll(() => upstream.requestsFor('tools/call')).toHaveLength(1);
    await owner.kill();
    // Nothing was begun yet: the client learns that nobody knows what became of it.
    const response = await call;
    expect(response.status).toBe(502);
    expect(await response.rpc()).toMatchObject({ id: 7, error: { code: -31003 } });
    await expect.poll(() => stream.isOver, PATIENCE).toBe(true);
  }, 30_000);

  test('X21 as their taker: their owner counts them as calls without a connection', async () => {
    const { server, seen, progress } = await startUpstream('legacy');
    const cluster = { url: redis.url };
    const owner = closing(await startGateway(server.url, { cluster, limits: { detachedPerPrincipal: 0 } }));
    const taker = await startKillableGateway(server.url, { cluster });
    const session = await openWireSession(owner.url);
    const call = await through(taker.url, session).request(1, 'tools/call', callParams('b'));
    await seen('b');
    progress('b', 1);
    await call.nextMessage();
    await taker.kill();
    // With no call allowed to run without a connection, this one ends as soon as the loss is noticed.
    await expect.poll(() => server.cancelled.length, PATIENCE).toBe(1);
  }, 30_000);
});

test('C12 an event that travels between instances in pieces keeps characters that are two units long', async () => {
  // Of one length and the next, one puts a boundary of the pieces within a character.
  const texts = ['😀'.repeat(200_000), `x${'😀'.repeat(200_000)}`];
  const streams: { stream: ScriptedStream; answer: string }[] = [];
  const upstream = closing(
    await startScriptedServer(
      legacyScript((request, res) => {
        const text = texts[Number(request.message.params.name)] ?? '';
        const stream = openStream(res);
        streams.push({ stream, answer: resultText(request, { content: [{ type: 'text', text }] }) });
        stream.send({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 1 } });
      }),
    ),
  );
  const cluster = { url: redis.url };
  const owner = closing(await startGateway(upstream.url, { cluster }));
  const taker = closing(await startGateway(upstream.url, { cluster }));
  const elsewhere = through(taker.url, await openWireSession(owner.url));
  for (const [index, text] of texts.entries()) {
    const call = await elsewhere.request(index, 'tools/call', { name: String(index) });
    await call.nextMessage();
    streams[index]?.stream.send(streams[index].answer);
    streams[index]?.stream.end();
    expect((await call.rpc()).result.content[0].text === text).toBe(true);
  }
});

test('what others write to an instance’s channel harms nothing', async () => {
  const { server } = await startUpstream('legacy');
  const cluster = { url: redis.url };
  const owner = closing(await startGateway(server.url, { cluster }));
  const taker = closing(await startGateway(server.url, { cluster }));
  const session = await openWireSession(owner.url);
  const stream = await through(taker.url, session).get();
  const { createClient } = await import('redis');
  const client = await createClient({ url: redis.url }).connect();
  const channel = `mcp-gangway:to:${session.id.split('.')[0]}`;
  for (const text of ['garbage', 'null', '[]', '{"kind":"request"}', '{"kind":"data","id":"x"}'])
    expect(await client.publish(channel, text)).toBe(1);
  client.destroy();
  expect((await through(taker.url, session).call('ping')).status).toBe(200);
  // The connections between the instances are still the same ones.
  expect(stream.isOver).toBe(false);
});

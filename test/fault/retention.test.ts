import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { answerResult, legacyScript, modernScript, startScriptedServer } from '../peers/scripted-server.js';
import { KEY, callModern, openWireSession } from '../peers/wire-client.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const PAD = 'x'.repeat(500_000);
const TIMES = 60;

function megabytes(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
}

/** Megabytes that are still there after doing something with half a megabyte each time. */
async function retained(upstream: { requests: unknown[] }, act: (number: number) => Promise<unknown>) {
  const once = async (number: number): Promise<void> => {
    await act(number);
    upstream.requests.length = 0;
  };
  // What is made once, such as compiled code, is no growth.
  for (let number = 0; number < 5; number++) await once(number);
  const before = megabytes();
  for (let number = 5; number < TIMES; number++) await once(number);
  return megabytes() - before;
}

const LIST = { tools: [], resultType: 'complete', ttlMs: 60_000, cacheScope: 'private' };
const legacy = async (result: object = {}) =>
  closing(
    await startScriptedServer(
      legacyScript((request, res) => answerResult(res, request, result), {
        capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
      }),
    ),
  );
const modern = async () =>
  closing(await startScriptedServer(modernScript((request, res) => answerResult(res, request, LIST))));

describe('what is remembered of a request is not the whole request', () => {
  test('X22 the tokens of tasks', async () => {
    const upstream = await legacy({ task: { taskId: 'x', status: 'working' } });
    const session = await openWireSession(closing(await startGateway(upstream.url)).url);
    const growth = await retained(upstream, (number) =>
      session.call('tools/call', {
        name: 't',
        arguments: { pad: PAD },
        _meta: { progressToken: `a token that is no short one ${number}` },
      }),
    );
    expect(growth).toBeLessThan(10);
  });

  test('X24 the URIs of subscriptions', async () => {
    const upstream = await legacy();
    const session = await openWireSession(closing(await startGateway(upstream.url)).url);
    const growth = await retained(upstream, (number) =>
      session.call('resources/subscribe', { uri: `test://a/resource/of/some/length/${number}`, pad: PAD }),
    );
    expect(growth).toBeLessThan(10);
  });

  test('X28 the cursors of lists', async () => {
    const upstream = await modern();
    const session = await openWireSession(closing(await startGateway(upstream.url)).url);
    const growth = await retained(upstream, (number) =>
      session.call('tools/list', { cursor: `${PAD}${number}` }),
    );
    expect(growth).toBeLessThan(10);
  });
});

describe('a client that says too much of itself is refused', () => {
  test('a legacy one', async () => {
    const upstream = await modern();
    const { url } = closing(await startGateway(upstream.url));
    const capabilities = { experimental: { pad: PAD } };
    await expect(openWireSession(url, { capabilities })).rejects.toThrow(/-32602.*the limit is/);
    await expect(openWireSession(url, { clientInfo: { name: PAD, version: '1' } })).rejects.toThrow(/-32602/);
    expect(upstream.requests).toEqual([]);
  });

  test('a modern one', async () => {
    const upstream = await legacy();
    const { url } = closing(await startGateway(upstream.url));
    const meta = { [KEY.clientCapabilities]: { experimental: { pad: PAD } } };
    const { status, message } = await callModern(url, 'tools/list', {}, { meta });
    expect([status, message.error.code]).toEqual([400, -32602]);
    expect(upstream.requests).toEqual([]);
  });
});

test('X24 a session subscribes to so many resources, and no more', async () => {
  const upstream = await legacy();
  const limits = { limits: { subscribedResources: 20 } };
  const session = await openWireSession(closing(await startGateway(upstream.url, limits)).url);
  const subscribe = async (uri: string) => (await session.call('resources/subscribe', { uri })).message;
  for (let number = 0; number < 20; number++) await subscribe(`test://${number}`);
  expect(await subscribe('test://20')).toHaveProperty('error.code', -31006);
  // What it has already, and what takes the place of another, is fine.
  expect(await subscribe('test://7')).toHaveProperty('result');
  await session.call('resources/unsubscribe', { uri: 'test://7' });
  expect(await subscribe('test://20')).toHaveProperty('result');
});

test('X24 a subscription of a modern client watches so many resources of a legacy upstream, and no more', async () => {
  const upstream = await legacy();
  const { url } = closing(await startGateway(upstream.url, { limits: { subscribedResources: 20 } }));
  const resourceSubscriptions = Array.from({ length: 21 }, (_, number) => `test://${number}`);
  const { status, message } = await callModern(url, 'subscriptions/listen', {
    notifications: { resourceSubscriptions },
  });
  expect([status, message.error.code]).toEqual([429, -31006]);
  expect(message.error.message).toContain('subscribedResources');
  expect(upstream.requestsFor('resources/subscribe')).toEqual([]);
});

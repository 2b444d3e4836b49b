import { describe, expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { startLegacyServer } from '../peers/legacy-server.js';
import {
  type ScriptedStream,
  answer,
  answerResult,
  legacyScript,
  openStream,
  resultText,
  startScriptedServer,
} from '../peers/scripted-server.js';
import { callModern, modernText, postModern } from '../peers/wire-client.js';
import { ALL_CHANGES, TOOLS_CHANGED } from './driven-upstream.js';

/** A legacy upstream whose lists are numbered by how often they were fetched, and whose change stream is at hand. */
async function numbered(options: { capabilities?: object; upstreamConfig?: Record<string, unknown> } = {}) {
  const { capabilities = ALL_CHANGES, upstreamConfig = {} } = options;
  const streams: ScriptedStream[] = [];
  const held: (() => void)[] = [];
  let fetched = 0;
  let holding = false;
  const upstream = closing(
    await startScriptedServer(
      legacyScript(
        (request, res) => {
          if (!request.method?.endsWith('/list')) {
            answerResult(res, request, { content: [] });
            return;
          }
          const number = ++fetched;
          const send = (): void => answerResult(res, request, { number });
          if (holding) held.push(send);
          else send();
        },
        { capabilities, get: (_, res) => void streams.push(openStream(res)) },
      ),
    ),
  );
  const gateway = closing(await startGateway(upstream.url, {}, upstreamConfig));
  const headersOf = (token: string) => ({ authorization: `Bearer ${token}` });
  return {
    upstream,
    streams,
    held,
    hold: () => void (holding = true),
    /** Opens the change stream, as somebody who listens does. */
    listen: async (token = 'a') => {
      const body = modernText('l', 'subscriptions/listen', { notifications: { toolsListChanged: true } });
      const response = closing(await postModern(gateway.url, body, headersOf(token)));
      await response.nextMessage();
      return response;
    },
    /** The number of the list that a client gets. */
    list: async (method = 'tools/list', params = {}, token = 'a'): Promise<number> => {
      const { message } = await callModern(gateway.url, method, params, { headers: headersOf(token) });
      expect(message.result).toMatchObject({ ttlMs: 0, cacheScope: 'private', resultType: 'complete' });
      return message.result.number;
    },
    call: (token = 'a') =>
      callModern(gateway.url, 'tools/call', { name: 't', arguments: {} }, { headers: headersOf(token) }),
  };
}

describe('X28 modern client, legacy upstream', () => {
  test('X28 a list is fetched once while its change stream is open, and each time without one', async () => {
    const { list, listen } = await numbered();
    expect([await list(), await list()]).toEqual([1, 2]);
    await listen();
    expect([await list(), await list(), await list()]).toEqual([3, 3, 3]);
    expect([await list('prompts/list'), await list('prompts/list')]).toEqual([4, 4]);
    expect([await list('tools/list', { cursor: 'p2' }), await list()]).toEqual([5, 3]);
    // Nothing tells that the templates changed.
    expect([await list('resources/templates/list'), await list('resources/templates/list')]).toEqual([6, 7]);
  });

  test('X28 a change makes its list worthless, and no other', async () => {
    const { list, listen, streams } = await numbered();
    const listening = await listen();
    expect([await list(), await list('prompts/list')]).toEqual([1, 2]);
    streams[0]?.send(TOOLS_CHANGED);
    expect((await listening.nextMessage()).method).toBe(TOOLS_CHANGED.method);
    expect([await list(), await list(), await list('prompts/list')]).toEqual([3, 3, 2]);
  });

  test('X28 what was being fetched while it changed is not kept', async () => {
    const { list, listen, streams, held, hold } = await numbered();
    const listening = await listen();
    hold();
    const first = list();
    await expect.poll(() => held.length).toBe(1);
    streams[0]?.send(TOOLS_CHANGED);
    await listening.nextMessage();
    held[0]?.();
    expect(await first).toBe(1);
    const second = list();
    await expect.poll(() => held.length).toBe(2);
    held[1]?.();
    expect([await second, await list()]).toEqual([2, 2]);
  });

  test('X28 a tool may have changed the lists, whether or not the news of it has come', async () => {
    const { list, listen, call } = await numbered();
    await listen();
    expect([await list(), await list()]).toEqual([1, 1]);
    await call();
    expect([await list(), await list()]).toEqual([2, 2]);
  });

  test('X28 a change stream that broke: nothing from before is served, nor anything kept until it is back', async () => {
    const { list, listen, streams } = await numbered();
    const listening = await listen();
    expect(await list()).toBe(1);
    streams[0]?.cut();
    // What may have been missed is told once the stream is back.
    expect((await listening.nextMessage()).method).toBe(TOOLS_CHANGED.method);
    expect([await list(), await list()]).toEqual([2, 2]);
  });

  test('X28 each caller has lists of its own', async () => {
    const { list, listen } = await numbered();
    await listen('a');
    await listen('b');
    expect([await list(), await list('tools/list', {}, 'b')]).toEqual([1, 2]);
    expect([await list(), await list('tools/list', {}, 'b')]).toEqual([1, 2]);
  });

  test('X28 a server that tells no changes, and a cache that is off: nothing is kept', async () => {
    const silent = await numbered({ capabilities: { tools: {}, resources: { subscribe: true } } });
    await silent.listen();
    expect([await silent.list(), await silent.list()]).toEqual([1, 2]);
    const off = await numbered({ upstreamConfig: { cache: false } });
    await off.listen();
    expect([await off.list(), await off.list()]).toEqual([1, 2]);
  });

  test('X28 errors are not kept', async () => {
    let asked = 0;
    const upstream = closing(
      await startScriptedServer(
        legacyScript(
          (request, res) => {
            asked++;
            const error = `{"jsonrpc":"2.0","id":${JSON.stringify(request.message.id)},"error":{"code":-32603,"message":"no"}}`;
            answer(res, 200, asked === 1 ? error : resultText(request, { tools: [] }));
          },
          { capabilities: ALL_CHANGES, get: (_, res) => void openStream(res) },
        ),
      ),
    );
    const gateway = closing(await startGateway(upstream.url));
    const body = modernText('l', 'subscriptions/listen', { notifications: { toolsListChanged: true } });
    await closing(await postModern(gateway.url, body)).nextMessage();
    expect((await callModern(gateway.url, 'tools/list')).message.error.code).toBe(-32603);
    expect((await callModern(gateway.url, 'tools/list')).message.result.tools).toEqual([]);
  });

  test('X28 with a real server: a tool added behind its back is in the next list once the news is there', async () => {
    const upstream = closing(await startLegacyServer());
    const gateway = closing(await startGateway(upstream.url));
    const body = modernText('l', 'subscriptions/listen', { notifications: { toolsListChanged: true } });
    const listening = closing(await postModern(gateway.url, body));
    await listening.nextMessage();
    for (let i = 0; i < 3; i++) await callModern(gateway.url, 'tools/list');
    expect(upstream.requestsFor('tools/list')).toHaveLength(1);
    await upstream.announce('tools');
    await listening.nextMessage();
    await callModern(gateway.url, 'tools/list');
    expect(upstream.requestsFor('tools/list')).toHaveLength(2);
  });
});

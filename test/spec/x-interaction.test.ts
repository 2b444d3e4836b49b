import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { LOG_LEVELS } from '../peers/catalogue/fixture-tool.js';
import { CELLS, ERAS, startPeer, startScript } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { startLegacyServer } from '../peers/legacy-server.js';
import { startModernServer } from '../peers/modern-server.js';
import type { CancelledNotice } from '../peers/peer-log.js';
import type { RawResponse } from '../peers/raw-client.js';
import {
  type Script,
  type ScriptedStream,
  answer,
  answerResult,
  openStream,
  progressFor,
  resultText,
} from '../peers/scripted-server.js';
import {
  type Era,
  KEY,
  callModern,
  modernText,
  openWireClient,
  openWireSession,
  postModern,
} from '../peers/wire-client.js';

const URI = 'test://watched-resource';

const slow = (label: string, ms = 10_000) => ({ name: 'probe_slow', arguments: { ms, tickMs: 20, label } });

/** The messages of one method on a stream so far. */
const seen = (response: RawResponse, method: string): any[] =>
  response.messages.filter((message) => message.method === method);

describe('X20 cancellation', () => {
  test('X20 legacy client, modern upstream: the notification closes the upstream stream, and nothing is posted', async () => {
    const upstream = closing(await startModernServer());
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    const call = await session.request('c', 'tools/call', { ...slow('a'), _meta: { progressToken: 1 } });
    await call.next();
    const aborted = once(upstream.log, 'aborted');
    expect((await session.notify('notifications/cancelled', { requestId: 'c' })).status).toBe(202);
    await aborted;
    await call.text();
    expect(call.messages.filter(({ id }) => id !== undefined)).toEqual([]);
    expect(upstream.requestsFor('notifications/cancelled')).toEqual([]);
  });

  test('X20 modern client, legacy upstream: closing is told with the id the upstream knows', async () => {
    const upstream = closing(await startLegacyServer());
    const gateway = closing(await startGateway(upstream.url));
    const body = modernText('mine', 'tools/call', slow('a'), { progressToken: 1 });
    const call = await postModern(gateway.url, body);
    await call.next();
    const cancelled = once(upstream.log, 'cancelled') as Promise<[CancelledNotice]>;
    call.close();
    const [notice] = await cancelled;
    expect(notice.requestId).toBe(upstream.requestsFor('tools/call')[0]?.message.id);
    expect(notice.requestId).not.toBe('mine');
    expect(notice.sessionId).toBe(upstream.log.runs[0]?.sessionId);
  });
});

describe('X21 disconnection', () => {
  test.each(ERAS)(
    'X21 of a legacy client: no cancellation, and the rest is there on return, %s upstream',
    async (era) => {
      const upstream = closing(await startPeer(era));
      const gateway = closing(await startGateway(upstream.url));
      const session = await openWireSession(gateway.url);
      const params = { ...slow('a', 200), _meta: { progressToken: 1 } };
      const call = await session.request(1, 'tools/call', params);
      const { id } = await call.next();
      const finished = once(upstream.log, 'finished');
      call.close();
      await finished;
      const resumed = await session.get(id);
      await resumed.text();
      expect(resumed.messages.at(-1)).toMatchObject({ id: 1, result: {} });
      expect(upstream.aborted).toEqual([]);
    },
  );

  test.each(ERAS)('X21 of a modern client: always a cancellation, %s upstream', async (era) => {
    const upstream = closing(await startPeer(era));
    const gateway = closing(await startGateway(upstream.url));
    const call = await postModern(gateway.url, modernText(1, 'tools/call', slow('a'), { progressToken: 1 }));
    await call.next();
    const aborted = once(upstream.log, 'aborted');
    call.close();
    await aborted;
    expect(upstream.log.finished).toEqual([]);
  });
});

/** A call with that progress token, and the progress the client was told. */
async function calling(cell: { client: Era; upstream: Era }, script: Script, token: unknown = 'own') {
  const upstream = closing(await startScript(cell.upstream, script, { tools: [] }));
  const gateway = closing(await startGateway(upstream.url));
  const client = await openWireClient(cell.client, gateway.url);
  const meta = token === undefined ? {} : { progressToken: token };
  const response = await client.request(1, 'tools/call', { name: 't' }, { meta });
  await response.text();
  return {
    upstream,
    response,
    progress: seen(response, 'notifications/progress').map(({ params }) => params),
  };
}

describe.each(CELLS)('X22 progress, $cell', (cell) => {
  test.each(['own', 0, '0', 7])('X22 the token %j of the client comes back with its type', async (token) => {
    const { upstream, progress } = await calling(
      cell,
      (request, res) => {
        const stream = openStream(res);
        stream.send(progressFor(request, 0.5, { total: 1, message: 'half', future: [1] }));
        stream.send(resultText(request, { resultType: 'complete', content: [] }));
        stream.end();
      },
      token,
    );
    expect(progress).toEqual([
      { progressToken: token, progress: 0.5, total: 1, message: 'half', future: [1] },
    ]);
    const sent = upstream.requestsFor('tools/call')[0]?.message.params._meta.progressToken;
    expect(sent).not.toBe(token);
  });

  test('X22 a token nobody gave, and progress nobody asked for, are dropped', async () => {
    const foreign: Script = (request, res) => {
      const stream = openStream(res);
      for (const progressToken of ['own', 'unknown', -1, null]) {
        stream.send({
          jsonrpc: '2.0',
          method: 'notifications/progress',
          params: { progressToken, progress: 1 },
        });
      }
      stream.send(resultText(request, { resultType: 'complete', content: [] }));
      stream.end();
    };
    expect((await calling(cell, foreign)).progress).toEqual([]);
    expect((await calling(cell, foreign, undefined)).progress).toEqual([]);
  });

  test('X22 nothing comes behind the response', async () => {
    const { response, progress } = await calling(cell, (request, res) => {
      const stream = openStream(res);
      stream.send(progressFor(request, 1));
      stream.send(resultText(request, { resultType: 'complete', content: [] }));
      stream.send(progressFor(request, 2));
      stream.end();
    });
    expect(progress.map(({ progress: value }) => value)).toEqual([1]);
    expect(response.messages.at(-1)?.id).toBe(1);
  });
});

test.each(CELLS.filter(({ client, upstream }) => client !== upstream))(
  'X22 progress only grows: what stands still or falls back is dropped, $cell',
  async (cell) => {
    const { progress } = await calling(cell, (request, res) => {
      const stream = openStream(res);
      for (const value of [1, 1, 3, 2, 3.5, -1]) stream.send(progressFor(request, value));
      stream.send(resultText(request, { resultType: 'complete', content: [] }));
      stream.end();
    });
    expect(progress.map(({ progress: value }) => value)).toEqual([1, 3, 3.5]);
  },
);

describe('X23 logging', () => {
  const logged = (response: RawResponse): string[] =>
    seen(response, 'notifications/message').map(({ params }) => params.level);
  const from = (level: (typeof LOG_LEVELS)[number]) => LOG_LEVELS.slice(LOG_LEVELS.indexOf(level));

  test('X23 legacy client, modern upstream: the level is held by the session and sent with each request', async () => {
    const upstream = closing(await startModernServer());
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    const other = await openWireSession(gateway.url);
    const run = async (live: typeof session): Promise<string[]> => {
      const response = await live.request(1, 'tools/call', { name: 'probe_log' });
      await response.rpc();
      return logged(response);
    };
    expect(await run(session)).toEqual(from('info'));
    expect((await session.call('logging/setLevel', { level: 'error' })).message.result).toEqual({});
    expect(await run(session)).toEqual(from('error'));
    expect((await session.call('logging/setLevel', { level: 'debug' })).status).toBe(200);
    expect(await run(session)).toEqual(LOG_LEVELS);
    expect(await run(other)).toEqual(from('info'));
    const levels = upstream
      .requestsFor('tools/call')
      .map(({ message }) => message.params._meta[KEY.logLevel]);
    expect(levels).toEqual(['info', 'error', 'debug', 'info']);
    expect(upstream.requestsFor('logging/setLevel')).toEqual([]);
  });

  test('X23 legacy client, modern upstream: a level that is none is -32602, and changes nothing', async () => {
    const upstream = closing(await startModernServer());
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    await session.call('logging/setLevel', { level: 'alert' });
    for (const level of ['loud', 3, undefined]) {
      expect((await session.call('logging/setLevel', { level })).message.error.code).toBe(-32602);
    }
    const response = await session.request(1, 'tools/call', { name: 'probe_log' });
    await response.rpc();
    expect(logged(response)).toEqual(from('alert'));
  });

  test.each([
    ['critical', from('critical')],
    ['none', []],
  ])(
    'X23 legacy client, modern upstream: the level before any was set can be configured, %s',
    async (defaultLogLevel, levels) => {
      const upstream = closing(await startModernServer());
      const gateway = closing(await startGateway(upstream.url, { compat: { defaultLogLevel } }));
      const session = await openWireSession(gateway.url);
      const response = await session.request(1, 'tools/call', { name: 'probe_log' });
      await response.rpc();
      expect(logged(response)).toEqual(levels);
    },
  );

  test('X23 modern client, legacy upstream: each request gets what it asked for, the upstream level only falls', async () => {
    const upstream = closing(await startLegacyServer());
    const gateway = closing(await startGateway(upstream.url));
    const run = async (level: string | undefined): Promise<string[]> => {
      const meta = level === undefined ? {} : { [KEY.logLevel]: level };
      const response = await postModern(
        gateway.url,
        modernText(1, 'tools/call', { name: 'probe_log' }, meta),
      );
      await response.rpc();
      return logged(response);
    };
    expect(await run('error')).toEqual(from('error'));
    expect(await run('info')).toEqual(from('info'));
    expect(await run('alert')).toEqual(from('alert'));
    expect(await run(undefined)).toEqual([]);
    const levels = upstream.requestsFor('logging/setLevel').map(({ message }) => message.params.level);
    expect(levels).toEqual(['error', 'info']);
  });

  test('X23 modern client, legacy upstream without logging: no level is set, and the call runs', async () => {
    const upstream = closing(
      await startScript('legacy', (request, res) => answerResult(res, request, { content: [] }), {
        capabilities: { tools: {} },
      }),
    );
    const gateway = closing(await startGateway(upstream.url));
    const meta = { [KEY.logLevel]: 'debug' };
    expect((await callModern(gateway.url, 'tools/call', { name: 't' }, { meta })).status).toBe(200);
    expect(upstream.requestsFor('logging/setLevel')).toEqual([]);
  });

  test('X23 modern client, legacy upstream: log messages of the GET stream reach neither listeners nor calls', async () => {
    const streams: ScriptedStream[] = [];
    const upstream = closing(
      await startScript('legacy', (request, res) => answerResult(res, request, { content: [] }), {
        capabilities: { tools: { listChanged: true }, logging: {} },
        get: (_, res) => void streams.push(openStream(res)),
      }),
    );
    const gateway = closing(await startGateway(upstream.url));
    const body = modernText('l', 'subscriptions/listen', { notifications: { toolsListChanged: true } });
    const listen = closing(await postModern(gateway.url, body));
    await listen.nextMessage();
    const params = { level: 'emergency', data: 'x' };
    streams[0]?.send({ jsonrpc: '2.0', method: 'notifications/message', params });
    streams[0]?.send({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    expect((await listen.nextMessage()).method).toBe('notifications/tools/list_changed');
    expect(listen.messages).toHaveLength(2);
  });
});

describe('X24 subscriptions', () => {
  test('X24 legacy clients, modern upstream: one listen of one credential serves many sessions', async () => {
    const upstream = closing(await startModernServer());
    const gateway = closing(await startGateway(upstream.url));
    const sessions = await Promise.all([1, 2, 3].map(() => openWireSession(gateway.url)));
    const streams: RawResponse[] = [];
    for (const session of sessions) streams.push(closing(await session.get()));
    await expect.poll(() => upstream.requestsFor('subscriptions/listen').length).toBe(1);
    // The acknowledgement of the listen has to be back before a change counts.
    const [first] = sessions;
    expect((await first?.call('resources/subscribe', { uri: URI }))?.message.result).toEqual({});
    await upstream.announce('tools');
    for (const stream of streams) {
      const message = await stream.nextMessage();
      expect(message.method).toBe('notifications/tools/list_changed');
      expect(JSON.stringify(message)).not.toContain(KEY.subscriptionId);
    }
    await upstream.announce({ uri: URI });
    expect(await streams[0]?.nextMessage()).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/resources/updated',
      params: { uri: URI },
    });
    const open = upstream.requestsFor('subscriptions/listen').filter(({ ended }) => ended === undefined);
    expect(open).toHaveLength(1);
  });

  test('X24 legacy client, modern upstream: a uri the upstream does not honour is an error, not {}', async () => {
    const upstream = closing(
      await startScript('modern', (request, res) => {
        const stream = openStream(res);
        const _meta = { [KEY.subscriptionId]: request.message.id };
        stream.send({
          jsonrpc: '2.0',
          method: 'notifications/subscriptions/acknowledged',
          params: { _meta, notifications: {} },
        });
      }),
    );
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    const { message } = await session.call('resources/subscribe', { uri: URI }, 's');
    expect(message).toMatchObject({ id: 's', error: { code: -32602 } });
  });

  test('X24 legacy client, modern upstream: what changes while nobody is attached waits', async () => {
    const upstream = closing(await startModernServer());
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    expect((await session.call('resources/subscribe', { uri: URI })).status).toBe(200);
    await upstream.announce({ uri: URI });
    const first = await session.get();
    const { id, data } = await first.next();
    expect(JSON.parse(data ?? '').params).toEqual({ uri: URI });
    first.close();
    await first.ended;
    await upstream.announce({ uri: URI });
    const second = closing(await session.get(id));
    expect((await second.nextMessage()).params).toEqual({ uri: URI });
  });

  test('X24 modern client, legacy upstream: the acknowledgement says what can really arrive', async () => {
    const wanted = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: [URI] };
    const body = modernText('l', 'subscriptions/listen', { notifications: wanted });
    const without = closing(
      await startScript('legacy', (request, res) => answerResult(res, request), {
        capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
      }),
    );
    const streamless = closing(await startGateway(without.url));
    const nothing = closing(await postModern(streamless.url, body));
    expect((await nothing.nextMessage()).params).toEqual({
      _meta: { [KEY.subscriptionId]: 'l' },
      notifications: {},
    });
    expect(without.requestsFor('resources/subscribe')).toEqual([]);
    const partly = closing(
      await startScript('legacy', (request, res) => answerResult(res, request), {
        capabilities: { tools: { listChanged: true }, prompts: {}, resources: {} },
        get: (_, res) => void openStream(res),
      }),
    );
    const gateway = closing(await startGateway(partly.url));
    const some = closing(await postModern(gateway.url, body));
    expect((await some.nextMessage()).params.notifications).toEqual({ toolsListChanged: true });
  });
});

test('X25 bursts are coalesced with a trailing edge', async () => {
  const upstream = closing(await startLegacyServer());
  const gateway = closing(await startGateway(upstream.url));
  const notifications = { toolsListChanged: true, promptsListChanged: true };
  const listen = closing(
    await postModern(gateway.url, modernText('l', 'subscriptions/listen', { notifications })),
  );
  await listen.nextMessage();
  for (let i = 0; i < 50; i++) await upstream.announce('tools');
  expect((await listen.nextMessage()).method).toBe('notifications/tools/list_changed');
  expect((await listen.nextMessage()).method).toBe('notifications/tools/list_changed');
  await upstream.announce('prompts');
  expect((await listen.nextMessage()).method).toBe('notifications/prompts/list_changed');
});

describe('X26 server-side disconnect', () => {
  test.each(ERAS)(
    'X26 offered to a 2025-11-25 client: the connection is closed after retry, the client polls, %s upstream',
    async (era) => {
      const upstream = closing(await startPeer(era));
      const polling = { closeAfterMs: 60, retryMs: 321 };
      const gateway = closing(await startGateway(upstream.url, { polling }));
      const session = await openWireSession(gateway.url);
      const params = { ...slow('a', 300), _meta: { progressToken: 1 } };
      const call = await session.request(1, 'tools/call', params);
      await call.text();
      expect(call.blocks.filter(({ retry }) => retry === '321').length).toBeGreaterThanOrEqual(1);
      expect(call.messages.filter(({ id }) => id !== undefined)).toEqual([]);
      let cursor = call.blocks.findLast(({ id }) => id !== undefined)?.id;
      let answer: any;
      for (let polls = 0; polls < 20 && answer === undefined; polls++) {
        const poll = await session.get(cursor);
        await poll.text();
        cursor = poll.blocks.findLast(({ id }) => id !== undefined)?.id ?? cursor;
        answer = poll.messages.find(({ id }) => id !== undefined);
      }
      expect(answer).toMatchObject({ id: 1, result: { content: [{ text: 'done a after 15 ticks' }] } });
      expect(upstream.aborted).toEqual([]);
    },
  );

  test('X26 not offered to an older client', async () => {
    const upstream = closing(await startModernServer());
    const polling = { closeAfterMs: 20, retryMs: 321 };
    const gateway = closing(await startGateway(upstream.url, { polling }));
    const session = await openWireSession(gateway.url, { revision: '2025-06-18' });
    const call = await session.request(1, 'tools/call', { ...slow('a', 100), _meta: { progressToken: 1 } });
    expect((await call.rpc()).result.content[0].text).toContain('done a');
    expect(call.blocks.filter(({ retry }) => retry !== undefined)).toEqual([]);
  });

  test.each(ERAS)('X26 obeyed towards a legacy upstream, unseen by a %s client', async (era) => {
    const upstream = closing(await startLegacyServer({ retryMs: 50 }));
    const gateway = closing(await startGateway(upstream.url));
    const client = await openWireClient(era, gateway.url);
    const { message } = await client.call('tools/call', { name: 'test_reconnection' });
    expect(message.result.content[0].text).toContain('completed successfully');
    expect(upstream.requestsFor('tools/call')).toHaveLength(1);
    const resumes = upstream.requests.filter(({ headers }) => headers['last-event-id'] !== undefined);
    expect(resumes.length).toBeGreaterThanOrEqual(1);
  });
});

describe('X28 caching', () => {
  async function cached(hint: { ttlMs: number; cacheScope: 'public' | 'private' }, upstreamConfig = {}) {
    const upstream = closing(await startModernServer({ cacheHint: hint, pageSize: 3 }));
    const gateway = closing(await startGateway(upstream.url, {}, upstreamConfig));
    const open = (token: string) =>
      openWireSession(gateway.url, { headers: { authorization: `Bearer ${token}` } });
    return { upstream, gateway, open };
  }

  const LISTS = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'];

  test.each(LISTS)('X28 legacy client, modern upstream: %s is kept for its ttlMs', async (method) => {
    const { upstream, open } = await cached({ ttlMs: 60_000, cacheScope: 'private' });
    const session = await open('a');
    const first = await session.call(method, {}, 1);
    const second = await session.call(method, {}, '2');
    expect(second.message.result).toEqual(first.message.result);
    expect(second.message.id).toBe('2');
    expect(upstream.requestsFor(method)).toHaveLength(1);
  });

  test('X28 ttlMs 0, and a cache that is off, keep nothing', async () => {
    for (const [ttlMs, config] of [
      [0, {}],
      [60_000, { cache: false }],
    ] as const) {
      const { upstream, open } = await cached({ ttlMs, cacheScope: 'public' }, config);
      const session = await open('a');
      await session.call('prompts/list');
      await session.call('prompts/list');
      expect(upstream.requestsFor('prompts/list')).toHaveLength(2);
    }
  });

  test('X28 a page is one thing, another page another', async () => {
    const { upstream, open } = await cached({ ttlMs: 60_000, cacheScope: 'private' });
    const session = await open('a');
    const { message } = await session.call('prompts/list');
    const cursor = message.result.nextCursor;
    const second = await session.call('prompts/list', { cursor });
    expect(second.message.result.prompts).not.toEqual(message.result.prompts);
    await session.call('prompts/list', { cursor });
    expect(upstream.requestsFor('prompts/list')).toHaveLength(2);
  });

  test('X28 private is of one credential, public of all that were accepted', async () => {
    for (const cacheScope of ['private', 'public'] as const) {
      const { upstream, open } = await cached({ ttlMs: 60_000, cacheScope });
      for (const token of ['a', 'b']) await (await open(token)).call('prompts/list');
      expect(upstream.requestsFor('prompts/list')).toHaveLength(cacheScope === 'private' ? 2 : 1);
    }
  });

  test('X28 private is of one set of capabilities', async () => {
    const { upstream, gateway } = await cached({ ttlMs: 60_000, cacheScope: 'private' });
    for (const capabilities of [{}, { sampling: {} }, {}]) {
      await (await openWireSession(gateway.url, { capabilities })).call('prompts/list');
    }
    expect(upstream.requestsFor('prompts/list')).toHaveLength(2);
  });

  test('X28 a public list with more params than a cursor is not shared', async () => {
    const { upstream, open } = await cached({ ttlMs: 60_000, cacheScope: 'public' });
    for (const token of ['a', 'b']) await (await open(token)).call('prompts/list', { tenant: token });
    expect(upstream.requestsFor('prompts/list')).toHaveLength(2);
  });

  test('X28 a change makes what was kept worthless', async () => {
    const { upstream, open } = await cached({ ttlMs: 60_000, cacheScope: 'private' });
    const session = await open('a');
    const stream = closing(await session.get());
    expect((await session.call('resources/subscribe', { uri: URI })).status).toBe(200);
    await session.call('prompts/list');
    await session.call('resources/list');
    await upstream.announce('prompts');
    await stream.nextMessage();
    await session.call('prompts/list');
    await session.call('resources/list');
    expect(upstream.requestsFor('prompts/list')).toHaveLength(2);
    expect(upstream.requestsFor('resources/list')).toHaveLength(1);
  });

  test('X28 what was being fetched while it changed is not kept', async () => {
    const waiting: (() => void)[] = [];
    const upstream = closing(
      await startScript(
        'modern',
        (request, res) => {
          if (request.method === 'subscriptions/listen') {
            const stream = openStream(res);
            const { notifications } = request.message.params;
            const _meta = { [KEY.subscriptionId]: request.message.id };
            stream.send({
              jsonrpc: '2.0',
              method: 'notifications/subscriptions/acknowledged',
              params: { _meta, notifications },
            });
            upstream.log.once('cancelled', () =>
              stream.send({
                jsonrpc: '2.0',
                method: 'notifications/prompts/list_changed',
                params: { _meta },
              }),
            );
            return;
          }
          const result = { resultType: 'complete', prompts: [], ttlMs: 60_000, cacheScope: 'private' };
          waiting.push(() => answerResult(res, request, result));
        },
        { capabilities: { prompts: { listChanged: true }, resources: { subscribe: true } } },
      ),
    );
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    const stream = closing(await session.get());
    expect((await session.call('resources/subscribe', { uri: URI })).status).toBe(200);
    const first = session.call('prompts/list');
    await expect.poll(() => waiting.length).toBe(1);
    // The script announces the change when it is told so.
    upstream.log.emit('cancelled', { requestId: undefined, reason: undefined, sessionId: undefined });
    await stream.nextMessage();
    waiting[0]?.();
    await first;
    const second = session.call('prompts/list');
    await expect.poll(() => waiting.length).toBe(2);
    waiting[1]?.();
    await second;
    await session.call('prompts/list');
    expect(waiting).toHaveLength(2);
  });

  test('X28 nothing is kept of a call, or of an error', async () => {
    let asked = 0;
    const upstream = closing(
      await startScript(
        'modern',
        (request, res) => {
          asked++;
          const error = { code: 1, message: 'no' };
          if (request.method === 'prompts/list')
            answer(res, 200, { jsonrpc: '2.0', id: request.message.id, error });
          else answerResult(res, request, { resultType: 'complete', content: [], ttlMs: 60_000 });
        },
        { tools: [] },
      ),
    );
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    for (const method of ['prompts/list', 'tools/call', 'resources/read']) {
      asked = 0;
      await session.call(method, { name: 't', uri: 'test://x' });
      await session.call(method, { name: 't', uri: 'test://x' });
      expect([method, asked]).toEqual([method, 2]);
    }
  });

  test('X28 modern client, legacy upstream: nothing is called fresh that nobody watches', async () => {
    const upstream = closing(await startLegacyServer());
    const gateway = closing(await startGateway(upstream.url));
    for (let i = 0; i < 2; i++) {
      const { message } = await callModern(gateway.url, 'prompts/list');
      expect(message.result).toMatchObject({ ttlMs: 0, cacheScope: 'private' });
    }
    expect(upstream.requestsFor('prompts/list')).toHaveLength(2);
  });

  test('X28 modern client, modern upstream: the hints pass, and the gateway keeps nothing', async () => {
    const { upstream, gateway } = await cached({ ttlMs: 60_000, cacheScope: 'public' });
    for (let i = 0; i < 2; i++) {
      const { message } = await callModern(gateway.url, 'prompts/list');
      expect(message.result).toMatchObject({ ttlMs: 60_000, cacheScope: 'public' });
    }
    expect(upstream.requestsFor('prompts/list')).toHaveLength(2);
  });
});

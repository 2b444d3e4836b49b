import { describe, expect, test } from 'vitest';
import type { ChangeFilter } from '../../src/exchange/change-filter.js';
import { wants } from '../../src/exchange/change-filter.js';
import type { Conversation, Introduction, UpstreamHalf, Watch } from '../../src/exchange/exchange.js';
import { Ending } from '../../src/exchange/ending.js';
import { SharedListen } from '../../src/exchange/shared-listen.js';
import { GatewayError } from '../../src/errors/gateway-error.js';
import { inspectUpstream } from '../../src/gateway.js';
import { parseConfig } from '../../src/config/config.js';
import { parseMessage } from '../../src/jsonrpc/message.js';
import { createLog } from '../../src/telemetry/log.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { type LegacyServerOptions, startLegacyServer } from '../peers/legacy-server.js';
import { startModernServer } from '../peers/modern-server.js';
import type { SeenRequest } from '../peers/peer-log.js';
import type { RawResponse } from '../peers/raw-client.js';
import {
  type ScriptedStream,
  answerResult,
  answerRpcError,
  legacyScript,
  modernScript,
  openStream,
  resultText,
  startScriptedServer,
} from '../peers/scripted-server.js';
import { KEY, modernText, openWireSession, postModern } from '../peers/wire-client.js';
import { ALL_CHANGES, TOOLS_CHANGED, summary } from './driven-upstream.js';

const WATCHED = 'test://watched-resource';
const UPDATED = 'notifications/resources/updated';

const methodsOf = (response: RawResponse): string[] => response.messages.map(({ method }) => method);

const pauseMs = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('X24 legacy clients, modern upstream', () => {
  /** A modern upstream whose listens are driven from the test; `honour` narrows what it acknowledges. */
  async function driven(honour: (wanted: any) => any = (wanted) => wanted) {
    const listens: {
      readonly request: SeenRequest;
      readonly stream: ScriptedStream;
      readonly wanted: any;
    }[] = [];
    const upstream = closing(
      await startScriptedServer(
        modernScript(
          (request, res) => {
            if (request.method !== 'subscriptions/listen') {
              answerResult(res, request, { resultType: 'complete' });
              return;
            }
            const wanted = request.message.params.notifications;
            const stream = openStream(res);
            listens.push({ request, stream, wanted });
            const _meta = { [KEY.subscriptionId]: request.message.id };
            stream.send({
              jsonrpc: '2.0',
              method: 'notifications/subscriptions/acknowledged',
              params: { _meta, notifications: honour(wanted) },
            });
          },
          { capabilities: ALL_CHANGES },
        ),
      ),
    );
    const gateway = closing(await startGateway(upstream.url));
    const open = () => listens.filter(({ request }) => request.ended === undefined);
    const change = (method: string, params: object = {}): void => {
      for (const { request, stream } of open()) {
        const _meta = { [KEY.subscriptionId]: request.message.id };
        stream.send({ jsonrpc: '2.0', method, params: { ...params, _meta } });
      }
    };
    return { upstream, gateway, listens, open, change };
  }

  test('X24 ten sessions share one listen; each hears of what it asked for, without reserved keys', async () => {
    const { gateway, open, change } = await driven();
    const sessions = await Promise.all(Array.from({ length: 10 }, () => openWireSession(gateway.url)));
    const streams = await Promise.all(sessions.map(async (session) => closing(await session.get())));
    await expect.poll(() => open().length).toBe(1);
    for (const session of sessions.slice(0, 3)) {
      expect((await session.call('resources/subscribe', { uri: WATCHED })).message.result).toEqual({});
    }
    await expect.poll(() => open().length).toBe(1);
    change(UPDATED, { uri: WATCHED });
    change('notifications/tools/list_changed');
    for (const [i, stream] of streams.entries()) {
      const expected = i < 3 ? [`updated ${WATCHED}`, TOOLS_CHANGED.method] : [TOOLS_CHANGED.method];
      await expect.poll(() => summary(stream)).toEqual(expected);
      expect(stream.received).not.toContain('io.modelcontextprotocol');
    }
  });

  test('X24 reference counted: it stays for the last session, and closes with it', async () => {
    const { gateway, open, change } = await driven();
    const a = await openWireSession(gateway.url);
    const b = await openWireSession(gateway.url);
    closing(await a.get());
    const stream = closing(await b.get());
    await expect.poll(() => open().length).toBe(1);
    expect((await a.delete()).status).toBe(204);
    change('notifications/tools/list_changed');
    await stream.nextMessage();
    expect(open()).toHaveLength(1);
    await b.delete();
    await expect.poll(() => open().length).toBe(0);
  });

  test('X24 unsubscribing the last of everything closes the listen; subscribing opens one again', async () => {
    const { gateway, open, listens } = await driven();
    const session = await openWireSession(gateway.url);
    await session.call('resources/subscribe', { uri: 'test://a' });
    expect(open()).toHaveLength(1);
    await session.call('resources/unsubscribe', { uri: 'test://a' });
    await expect.poll(() => open().length).toBe(0);
    await session.call('resources/subscribe', { uri: 'test://b' });
    expect(open().map(({ wanted }) => wanted)).toEqual([{ resourceSubscriptions: ['test://b'] }]);
    expect(listens).toHaveLength(2);
  });

  test('X24 the filter grows without a gap: the new stream is acknowledged before the old one closes', async () => {
    const { gateway, listens, upstream } = await driven();
    const session = await openWireSession(gateway.url);
    await session.call('resources/subscribe', { uri: 'test://a' });
    let oldAtAck: unknown = 'unknown';
    upstream.log.once('request', () => {
      oldAtAck = listens[0]?.request.ended;
    });
    await session.call('resources/subscribe', { uri: 'test://b' });
    expect(oldAtAck).toBeUndefined();
    expect(listens.map(({ wanted }) => wanted.resourceSubscriptions)).toEqual([
      ['test://a'],
      ['test://a', 'test://b'],
    ]);
    await expect.poll(() => listens[0]?.request.ended).toBe('dropped');
    expect(listens[1]?.request.ended).toBeUndefined();
  });

  test('X24 a uri the upstream does not acknowledge: an error, asked anew the next time; others go on', async () => {
    let refused = ['test://b'];
    const { gateway, open, change } = await driven((wanted) => ({
      ...wanted,
      resourceSubscriptions: wanted.resourceSubscriptions?.filter((uri: string) => !refused.includes(uri)),
    }));
    const session = await openWireSession(gateway.url);
    const stream = closing(await session.get());
    await session.call('resources/subscribe', { uri: 'test://a' });
    const { message } = await session.call('resources/subscribe', { uri: 'test://b' });
    expect(message.error.code).toBe(-32602);
    change(UPDATED, { uri: 'test://b' });
    change(UPDATED, { uri: 'test://a' });
    await stream.next();
    expect(summary(stream)).toEqual(['updated test://a']);
    refused = [];
    expect((await session.call('resources/subscribe', { uri: 'test://b' })).message.result).toEqual({});
    await expect.poll(() => open().length).toBe(1);
    change(UPDATED, { uri: 'test://b' });
    await stream.next();
    expect(summary(stream)).toEqual(['updated test://a', 'updated test://b']);
  });

  test('X24 the upstream ends its listen, gracefully or not: opened again, with what was missed', async () => {
    const { gateway, open, listens } = await driven();
    const session = await openWireSession(gateway.url);
    await session.call('resources/subscribe', { uri: 'test://a' });
    const stream = closing(await session.get());
    await expect.poll(() => listens.length).toBe(2);
    await expect.poll(() => open().length).toBe(1);
    const before = listens.length;
    const last = listens.at(-1);
    last?.stream.send(resultText(last.request, { resultType: 'complete' }));
    last?.stream.end();
    await expect.poll(() => listens.length, { timeout: 3000 }).toBe(before + 1);
    await expect.poll(() => summary(stream)).toContain('updated test://a');
    expect(methodsOf(stream)).toContain(TOOLS_CHANGED.method);
    listens.at(-1)?.stream.cut();
    await expect.poll(() => listens.length, { timeout: 4000 }).toBe(before + 2);
  });

  test('X24 an upstream that acknowledges and ends, again and again, is asked ever more slowly', async () => {
    const at: number[] = [];
    const { gateway, upstream } = await driven();
    upstream.become(
      modernScript(
        (request, res) => {
          at.push(performance.now());
          const stream = openStream(res);
          stream.send({
            jsonrpc: '2.0',
            method: 'notifications/subscriptions/acknowledged',
            params: { notifications: request.message.params.notifications },
          });
          stream.end();
        },
        { capabilities: ALL_CHANGES },
      ),
    );
    const session = await openWireSession(gateway.url);
    closing(await session.get());
    await expect.poll(() => at.length, { timeout: 5000 }).toBe(3);
    expect((at[2] ?? 0) - (at[1] ?? 0)).toBeGreaterThanOrEqual(490);
  });

  test('X24 an upstream that cannot be reached when the GET comes: listened to as soon as it can', async () => {
    let down = true;
    const upstream = closing(
      await startModernServer({
        intercept: ({ method }, res) => {
          if (!down || method !== 'subscriptions/listen') return false;
          res.writeHead(503).end();
          return true;
        },
      }),
    );
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    const stream = closing(await session.get());
    await expect.poll(() => upstream.requestsFor('subscriptions/listen')[0]?.status).toBe(503);
    down = false;
    const listening = () =>
      upstream.requestsFor('subscriptions/listen').some(({ ended }) => ended === undefined);
    await expect.poll(listening, { timeout: 4000 }).toBe(true);
    await pauseMs(50);
    await upstream.announce('prompts');
    expect((await stream.nextMessage()).method).toBe('notifications/prompts/list_changed');
  });

  test('X24 an upstream without subscriptions is not asked for ever', async () => {
    const upstream = closing(
      await startScriptedServer(modernScript((request, res) => answerRpcError(res, request, 404, -32601))),
    );
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    const stream = closing(await session.get());
    await expect.poll(() => upstream.requestsFor('subscriptions/listen').length).toBe(1);
    const { message } = await session.call('resources/subscribe', { uri: 'test://a' });
    expect(message.error).toBeDefined();
    await pauseMs(1200);
    expect(upstream.requestsFor('subscriptions/listen').length).toBeLessThanOrEqual(2);
    expect(stream.isOver).toBe(false);
  });

  test('X24 changes are kept while no GET is attached', async () => {
    const { gateway, open, change } = await driven();
    const session = await openWireSession(gateway.url);
    const first = await session.get();
    const { id } = await first.next((block) => block.id !== undefined);
    await expect.poll(() => open().length).toBe(1);
    first.close();
    await first.ended;
    change('notifications/tools/list_changed');
    change('notifications/prompts/list_changed');
    await session.call('resources/subscribe', { uri: 'test://a' });
    const second = closing(await session.get(id));
    await second.next();
    await second.next();
    expect(summary(second)).toEqual([TOOLS_CHANGED.method, 'notifications/prompts/list_changed']);
  });

  test('X25 C18 a storm of 200 changes in 100 ms: at most 2 downstream, the last never lost', async () => {
    const { gateway, open, change } = await driven();
    const session = await openWireSession(gateway.url);
    const stream = closing(await session.get());
    await session.call('resources/subscribe', { uri: WATCHED });
    await expect.poll(() => open().length).toBe(1);
    for (let i = 1; i <= 200; i++) {
      change('notifications/tools/list_changed');
      change(UPDATED, { uri: WATCHED, n: i });
      if (i % 20 === 0) await pauseMs(10);
    }
    await pauseMs(600);
    const updates = stream.messages.filter(({ method }) => method === UPDATED);
    expect(updates.at(-1).params.n).toBe(200);
    expect(updates.length).toBeLessThanOrEqual(3);
    expect(methodsOf(stream).filter((method) => method === TOOLS_CHANGED.method).length).toBeLessThanOrEqual(
      3,
    );
  });

  test('X25 a list call causes no notification', async () => {
    const upstream = closing(await startModernServer());
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    const stream = closing(await session.get());
    await expect.poll(() => upstream.requestsFor('subscriptions/listen').length).toBe(1);
    for (const method of ['tools/list', 'prompts/list', 'resources/list']) await session.call(method);
    await upstream.announce('prompts');
    await stream.next();
    expect(summary(stream)).toEqual(['notifications/prompts/list_changed']);
  });
});

describe('X24 modern clients, legacy upstream', () => {
  async function started(options: LegacyServerOptions = {}) {
    const upstream = closing(await startLegacyServer(options));
    const gateway = closing(await startGateway(upstream.url));
    const listen = async (id: string | number, notifications: object): Promise<RawResponse> =>
      closing(await postModern(gateway.url, modernText(id, 'subscriptions/listen', { notifications })));
    return { upstream, gateway, listen };
  }

  test('C17 two listeners with the ids 1 and "1": each its own, one resources/subscribe, closing one leaves the other', async () => {
    const { upstream, listen } = await started();
    const filter = { resourceSubscriptions: [WATCHED], toolsListChanged: true };
    const number = await listen(1, filter);
    const text = await listen('1', filter);
    for (const [stream, id] of [
      [number, 1],
      [text, '1'],
    ] as const) {
      const ack = await stream.nextMessage();
      expect(ack.method).toBe('notifications/subscriptions/acknowledged');
      expect(ack.params.notifications).toEqual(filter);
      expect(ack.params._meta[KEY.subscriptionId]).toBe(id);
    }
    expect(upstream.requestsFor('resources/subscribe')).toHaveLength(1);
    expect(upstream.sessionsCreated).toBe(1);
    await upstream.announce({ uri: WATCHED });
    expect((await number.nextMessage()).params).toMatchObject({
      uri: WATCHED,
      _meta: { [KEY.subscriptionId]: 1 },
    });
    expect((await text.nextMessage()).params).toMatchObject({
      uri: WATCHED,
      _meta: { [KEY.subscriptionId]: '1' },
    });
    number.close();
    await number.ended;
    await upstream.announce('tools');
    expect((await text.nextMessage()).method).toBe(TOOLS_CHANGED.method);
    expect(upstream.requestsFor('resources/unsubscribe')).toEqual([]);
    text.close();
    await expect.poll(() => upstream.requestsFor('resources/unsubscribe').length).toBe(1);
  });

  test('X24 leaving and joining at one time: the upstream ends up subscribed', async () => {
    const { upstream, listen } = await started();
    for (let round = 0; round < 5; round++) {
      const first = await listen(round, { resourceSubscriptions: [WATCHED] });
      await first.nextMessage();
      const second = listen(`again ${round}`, { resourceSubscriptions: [WATCHED] });
      first.close();
      const again = await second;
      expect((await again.nextMessage()).params.notifications).toEqual({ resourceSubscriptions: [WATCHED] });
      const [session] = upstream.sessions.values();
      await pauseMs(20);
      expect(session?.subscriptions.has(WATCHED)).toBe(true);
      again.close();
      await expect.poll(() => session?.subscriptions.has(WATCHED)).toBe(false);
    }
  });

  test('X24 only what was asked for arrives, and only what the upstream advertises is honoured', async () => {
    const scripted = closing(
      await startScriptedServer(
        legacyScript((request, res) => answerResult(res, request), {
          capabilities: { tools: { listChanged: true }, prompts: {}, resources: { listChanged: false } },
          get: (_, res) => {
            const stream = openStream(res);
            for (const kind of ['prompts', 'resources', 'tools'])
              stream.send({ jsonrpc: '2.0', method: `notifications/${kind}/list_changed` });
          },
        }),
      ),
    );
    const gateway = closing(await startGateway(scripted.url));
    const notifications = {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: [WATCHED],
    };
    const stream = closing(
      await postModern(gateway.url, modernText(1, 'subscriptions/listen', { notifications })),
    );
    expect((await stream.nextMessage()).params.notifications).toEqual({ toolsListChanged: true });
    expect((await stream.nextMessage()).method).toBe(TOOLS_CHANGED.method);
    expect(methodsOf(stream)).toHaveLength(2);
    expect(scripted.requestsFor('resources/subscribe')).toEqual([]);
  });

  test('X24 an empty filter is served: acknowledged, silent, open', async () => {
    const { listen, upstream } = await started();
    const stream = await listen(0, {});
    const ack = await stream.nextMessage();
    expect(ack.params).toEqual({ _meta: { [KEY.subscriptionId]: 0 }, notifications: {} });
    await upstream.announce('tools');
    await pauseMs(50);
    expect(stream.messages).toHaveLength(1);
    expect(stream.isOver).toBe(false);
  });

  test('X24 an upstream without GET stream: nothing is honoured, and the inspection says so', async () => {
    const scripted = closing(
      await startScriptedServer(
        legacyScript((request, res) => answerResult(res, request), { capabilities: ALL_CHANGES }),
      ),
    );
    const gateway = closing(await startGateway(scripted.url));
    const notifications = { toolsListChanged: true, resourceSubscriptions: [WATCHED] };
    const stream = closing(
      await postModern(gateway.url, modernText(1, 'subscriptions/listen', { notifications })),
    );
    expect((await stream.nextMessage()).params.notifications).toEqual({});
    expect(stream.isOver).toBe(false);
    // A legacy client is offered a stream all the same.
    const session = await openWireSession(gateway.url);
    expect(closing(await session.get()).status).toBe(200);

    const { upstreams } = parseConfig({ upstreams: { a: { url: scripted.url } } });
    if (upstreams['a'] === undefined) throw new Error('unreachable');
    const report = await inspectUpstream(upstreams['a']);
    expect(report).toMatchObject({ era: 'legacy', offersGetStream: false });
    const real = closing(await startLegacyServer());
    const offering = parseConfig({ upstreams: { a: { url: real.url } } }).upstreams['a'];
    if (offering === undefined) throw new Error('unreachable');
    expect(await inspectUpstream(offering)).toMatchObject({ offersGetStream: true });
  });

  test('X24 a graceful end of the gateway: the result with the own id, and no notifications/cancelled', async () => {
    const upstream = closing(await startLegacyServer());
    const gateway = await startGateway(upstream.url);
    const body = modernText('l', 'subscriptions/listen', { notifications: { toolsListChanged: true } });
    const stream = await postModern(gateway.url, body);
    await stream.next();
    await gateway.close();
    expect(await stream.ended).toBe('finished');
    expect(stream.messages.slice(1)).toEqual([
      {
        jsonrpc: '2.0',
        id: 'l',
        result: { resultType: 'complete', _meta: { [KEY.subscriptionId]: 'l' } },
      },
    ]);
  });

  test('C18 X25 a storm of 200 changes in 100 ms: at most 2 downstream, the last never lost', async () => {
    const { upstream, listen } = await started();
    const stream = await listen(1, { toolsListChanged: true });
    await stream.next();
    for (let i = 0; i < 200; i++) {
      void upstream.announce('tools');
      if (i % 20 === 0) await pauseMs(10);
    }
    await expect.poll(() => stream.messages.length).toBe(3);
    await pauseMs(400);
    expect(stream.messages.length).toBeLessThanOrEqual(4);
    const before = stream.messages.length;
    await upstream.announce('tools');
    await expect.poll(() => stream.messages.length).toBe(before + 1);
  });

  test('X24 a change never reaches a stream that closed, and log messages never a listen stream', async () => {
    const { upstream, gateway, listen } = await started();
    const stream = await listen(1, { toolsListChanged: true });
    await stream.next();
    const call = modernText(2, 'tools/call', { name: 'probe_log' }, { [KEY.logLevel]: 'debug' });
    await (await postModern(gateway.url, call)).text();
    await upstream.announce('tools');
    await stream.next();
    expect(methodsOf(stream)).toEqual(['notifications/subscriptions/acknowledged', TOOLS_CHANGED.method]);
  });
});

describe('X24 the shared subscription by itself', () => {
  const log = createLog('silent');

  function introductionWith(authorization: string, conversation: Conversation): Introduction {
    return {
      era: 'legacy',
      client: { revision: 'r', capabilities: '{}' },
      caller: { principal: { key: 'p', anonymous: false }, authorization, remoteAddress: 'x', conversation },
      headers: {},
    };
  }

  function conversation() {
    const life = new Ending();
    const heard: (string | undefined)[] = [];
    const own: Conversation = {
      key: 'k',
      get over() {
        return life.over;
      },
      onEnd: (listener) => life.onEnd(listener),
      offEnd: (listener) => life.offEnd(listener),
      suspended: false,
      upstreamState: undefined,
      rememberUpstream: () => undefined,
      notify: (message) => void heard.push(message.method),
      ask: () => Promise.reject(new Error('unused')),
      end: () => life.end(),
    };
    return { own, heard };
  }

  /** An upstream that takes one credential only, and ends its subscription when the test says so. */
  function upstreamTaking(state: { credential: string }) {
    const used: (string | undefined)[] = [];
    const ends: (() => void)[] = [];
    const half: Partial<UpstreamHalf> = {
      watch: (from: Introduction, filter: ChangeFilter): Promise<Watch> => {
        used.push(from.caller.authorization);
        if (from.caller.authorization !== state.credential)
          return Promise.reject(new GatewayError(-31005, 'the credential ran out', { status: 401 }));
        const onLost = (listener: () => void) => void ends.push(listener);
        return Promise.resolve({ honoured: filter, onLost, close: () => undefined });
      },
    };
    return { half: half as UpstreamHalf, used, ends };
  }

  test('X24 401: listened again with the newer token as soon as there is one, and what was missed is told', async () => {
    const state = { credential: 'old' };
    const { half, used, ends } = upstreamTaking(state);
    const { own, heard } = conversation();
    const listen = new SharedListen(introductionWith('old', own), half, log, {
      empty: () => undefined,
      change: () => undefined,
    });
    listen.attach(introductionWith('old', own), own);
    await expect.poll(() => ends.length).toBe(1);
    state.credential = 'new';
    ends[0]?.();
    await expect.poll(() => used.length, { timeout: 2000 }).toBe(2);
    expect(used[1]).toBe('old');
    const begin = performance.now();
    listen.renew(introductionWith('new', own));
    await expect.poll(() => ends.length).toBe(2);
    expect(performance.now() - begin).toBeLessThan(250);
    expect(used.at(-1)).toBe('new');
    await expect.poll(() => heard.length).toBe(3);
    own.end('over');
  });
});

test('X24 an update inside a watched resource passes; one of a resource with a longer name does not', () => {
  const filter: ChangeFilter = { lists: new Set(), uris: new Set(['file:///a', 'file:///dir/']) };
  const passes = (uri: string) =>
    wants(
      filter,
      parseMessage(JSON.stringify({ jsonrpc: '2.0', method: UPDATED, params: { uri } }), { maxDepth: 8 }),
    );
  expect(['file:///a', 'file:///a/b', 'file:///a?x', 'file:///a#x', 'file:///dir/c'].map(passes)).toEqual(
    Array(5).fill(true),
  );
  expect(['file:///ab', 'file:///', 'file:///di'].map(passes)).toEqual(Array(3).fill(false));
});

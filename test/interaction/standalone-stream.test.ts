import { describe, expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { startLegacyServer } from '../peers/legacy-server.js';
import { answer, openStream } from '../peers/scripted-server.js';
import { KEY, modernText, postModern } from '../peers/wire-client.js';
import { DrivenServer } from './driven-server.js';
import { ALL_CAPABILITIES, answers, asked, runLeg } from './legs.js';
import { gate } from './rounds.js';

describe('X29, X19 the stream on which a legacy server asks outside its calls', () => {
  // A server with nowhere to put a question drops it, and its call never ends.
  test('X29 is open before the first call of a session, however slow it opens', async () => {
    const slow = gate();
    const upstream = closing(
      await startLegacyServer({
        intercept: async ({ httpMethod }) => {
          if (httpMethod === 'GET') await slow.opened;
          return false;
        },
      }),
    );
    const gateway = closing(await startGateway(upstream.url));
    const leg = runLeg(gateway.url, { name: 'probe_ask_detached' });
    await expect.poll(() => upstream.requests.some(({ httpMethod }) => httpMethod === 'GET')).toBe(true);
    slow.open();
    const { state, keys } = asked((await leg).message);
    const inputResponses = answers(keys, { action: 'accept', content: { name: 'Ada' } });
    const { message } = await runLeg(gateway.url, {
      name: 'probe_ask_detached',
      requestState: state,
      inputResponses,
    });
    expect(message.result.content[0].text).toContain('Ada');
    expect(upstream.log.runs).toHaveLength(1);
  });

  test('X19 is open before the server hears `initialized` and asks for the roots', async () => {
    const upstream = closing(await DrivenServer.start());
    const gateway = closing(await startGateway(upstream.url));
    const leg = runLeg(gateway.url);
    await upstream.notifications('notifications/initialized');
    expect(upstream.streams).toHaveLength(1);
    upstream.streams[0]?.send({ jsonrpc: '2.0', id: 'r', method: 'roots/list' });
    const { state, keys } = asked((await leg).message);
    const last = runLeg(gateway.url, { requestState: state, inputResponses: answers(keys, { roots: [] }) });
    expect(await upstream.answerTo('r')).toMatchObject({ result: { roots: [] } });
    (await upstream.call()).finish();
    expect((await last).message.result.content[0].text).toBe('done');
  });

  test('X29 a server that refuses it before `initialized` is asked again behind it', async () => {
    let initialized = false;
    const upstream: DrivenServer = closing(
      await DrivenServer.start({
        get: (_, res) => {
          if (initialized) upstream.streams.push(openStream(res));
          else answer(res, 400, '', {});
        },
        notification: ({ method }, res) => {
          if (method === 'notifications/initialized') initialized = true;
          answer(res, 202, '', {});
        },
      }),
    );
    const gateway = closing(await startGateway(upstream.url));
    const leg = runLeg(gateway.url);
    const call = await upstream.call();
    await upstream.until(() => upstream.streams.length === 1);
    call.finish();
    expect((await leg).message.result.content[0].text).toBe('done');
  });

  test('X29 a server that leaves it hanging holds nobody up for long', async () => {
    const upstream = closing(await DrivenServer.start({ get: () => undefined }));
    const gateway = closing(await startGateway(upstream.url));
    const leg = runLeg(gateway.url);
    (await upstream.call()).finish();
    expect((await leg).message.result.content[0].text).toBe('done');
  });

  test('X29 is not opened for a client that cannot be asked anything', async () => {
    const upstream = closing(await DrivenServer.start());
    const gateway = closing(await startGateway(upstream.url));
    const leg = runLeg(gateway.url, { capabilities: {} });
    (await upstream.call()).finish();
    expect((await leg).message.result.content[0].text).toBe('done');
    expect(upstream.streams).toEqual([]);
  });
});

describe('X19 roots that a server wants before any call', () => {
  const ROOTS = { jsonrpc: '2.0', method: 'roots/list' };

  /** A client has connected, the server wants its roots, and the gateway knows. */
  async function wanting(config: Record<string, unknown> = {}) {
    const upstream: DrivenServer = closing(await DrivenServer.start());
    const gateway = closing(await startGateway(upstream.url, config));
    const meta = { [KEY.clientCapabilities]: ALL_CAPABILITIES };
    await (await postModern(gateway.url, modernText('d', 'server/discover', {}, meta))).rpc();
    upstream.streams[0]?.send({ ...ROOTS, id: 'r' });
    // The answer to a ping behind it tells that the gateway has read it.
    upstream.streams[0]?.send({ jsonrpc: '2.0', method: 'ping', id: 'p' });
    await upstream.answerTo('p');
    return { upstream, gateway, url: gateway.url };
  }

  test('X19 are answered before the call is sent that brings the client to be asked', async () => {
    const { upstream, url } = await wanting();
    const { state, keys, questions } = asked((await runLeg(url)).message);
    expect(questions).toEqual([{ method: 'roots/list' }]);
    expect(upstream.calls).toEqual([]);
    const last = runLeg(url, { requestState: state, inputResponses: answers(keys, { roots: [] }) });
    expect(await upstream.answerTo('r')).toMatchObject({ result: { roots: [] } });
    (await upstream.call()).finish();
    expect((await last).message.result.content[0].text).toBe('done');
    const order = upstream.server.requests.map(({ method, message }) => method ?? message?.id);
    expect(order.indexOf('r')).toBeLessThan(order.indexOf('tools/call'));
  });

  test('X19 keep no other call waiting for long', async () => {
    const { upstream, url } = await wanting();
    asked((await runLeg(url)).message);
    const other = runLeg(url, { name: 'other' });
    const call = await upstream.call();
    expect(call.request.message.params.name).toBe('other');
    call.finish();
    expect((await other).message.result.content[0].text).toBe('done');
  });

  test('X19 a client that leaves instead of answering: its call was never sent, the next one is asked', async () => {
    const { upstream, gateway, url } = await wanting({ timeouts: { parkMs: 200 } });
    asked((await runLeg(url)).message);
    await expect.poll(() => gateway.activity().parked).toBe(0);
    const { state, keys } = asked((await runLeg(url, { name: 'next' })).message);
    const inputResponses = answers(keys, { roots: [] });
    const last = runLeg(url, { name: 'next', requestState: state, inputResponses });
    expect(await upstream.answerTo('r')).toMatchObject({ result: { roots: [] } });
    (await upstream.call()).finish();
    expect((await last).message.result.content[0].text).toBe('done');
    expect(upstream.calls.map(({ request }) => request.message.params.name)).toEqual(['next']);
    expect(upstream.server.cancelled).toEqual([]);
  });

  test('X19 a server that does not ask again holds the call up for a moment only', async () => {
    const { upstream, url } = await wanting({ timeouts: { questionMs: 200 } });
    // Nobody came to be asked.
    expect(await upstream.answerTo('r')).toMatchObject({ error: { code: -31010 } });
    const leg = runLeg(url);
    await upstream.notifications('notifications/roots/list_changed');
    (await upstream.call()).finish();
    expect((await leg).message.result.content[0].text).toBe('done');
  });
});

import { describe, expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { startLegacyServer } from '../peers/legacy-server.js';
import { answer, openStream } from '../peers/scripted-server.js';
import { DrivenServer } from './driven-server.js';
import { answers, asked, runLeg } from './legs.js';
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

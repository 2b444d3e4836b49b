import { expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import {
  type Script,
  answerResult,
  legacyScript,
  openStream,
  resultText,
  startScriptedServer,
} from '../peers/scripted-server.js';
import { ERAS } from '../peers/cells.js';
import { KEY, callModern, modernText, openWireClient, postModern } from '../peers/wire-client.js';

/** Well below what the gateway waits for the answer to a request of its own. */
const SOON_MS = 4000;

/** Answers on a stream and leaves it open. */
const lingering: Script = (request, res) => openStream(res).send(resultText(request));

/** A legacy server that leaves the streams of what the gateway itself asks open behind the responses. */
async function started(notification?: Script) {
  const script = legacyScript(
    (request, res) => {
      if (request.method === 'resources/subscribe') void lingering(request, res);
      else answerResult(res, request, { tools: [] });
    },
    {
      capabilities: { tools: {}, logging: {}, resources: { subscribe: true } },
      get: (_, res) => void openStream(res),
      ...(notification && { notification }),
    },
  );
  const upstream = closing(
    await startScriptedServer((request, res) => {
      if (request.method === 'logging/setLevel') return lingering(request, res);
      return script(request, res);
    }),
  );
  return closing(await startGateway(upstream.url)).url;
}

test('X24 a listener is served at once, though the server leaves the stream of its answer open', async () => {
  const url = await started();
  const body = modernText(1, 'subscriptions/listen', {
    notifications: { resourceSubscriptions: ['test://a'] },
  });
  const before = performance.now();
  const listening = closing(await postModern(url, body));
  expect((await listening.nextMessage()).params.notifications.resourceSubscriptions).toEqual(['test://a']);
  expect(performance.now() - before).toBeLessThan(SOON_MS);
});

test('X23 and so is a call that asks for log messages', async () => {
  const url = await started();
  const before = performance.now();
  const { message } = await callModern(url, 'tools/list', {}, { meta: { [KEY.logLevel]: 'info' } });
  expect(message).toHaveProperty('result.tools');
  expect(performance.now() - before).toBeLessThan(SOON_MS);
});

test.each(ERAS)(
  'X1 a %s client is not held up by an answer to `initialized` that has no end',
  async (era) => {
    const url = await started((_, res) => {
      res.writeHead(202, { 'content-type': 'text/event-stream' });
      res.flushHeaders();
    });
    const before = performance.now();
    const client = await openWireClient(era, url);
    expect((await client.call('tools/list')).message).toHaveProperty('result.tools');
    expect(performance.now() - before).toBeLessThan(SOON_MS);
  },
);

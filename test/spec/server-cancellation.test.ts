import { expect, test } from 'vitest';
import { form, inputRequiredText, nextQuestion, responseTo, roundsScript } from '../interaction/rounds.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { modernScript, openStream, resultText, startScriptedServer } from '../peers/scripted-server.js';
import { KEY, modernText, openWireSession, postModern } from '../peers/wire-client.js';

const cancelled = (requestId: unknown): object => ({
  jsonrpc: '2.0',
  method: 'notifications/cancelled',
  params: { requestId, reason: 'going down' },
});

// "Server-sent cancellation notifications MUST reference a subscriptions/listen request."
// @see /specification/2026-07-28/basic/patterns/cancellation#behavior-requirements
test('X20 a modern server that ends a subscription names it by the id its client gave it', async () => {
  const upstream = closing(
    await startScriptedServer(
      modernScript((request, res) => {
        const stream = openStream(res);
        const { id } = request.message;
        stream.send({
          jsonrpc: '2.0',
          method: 'notifications/subscriptions/acknowledged',
          params: { _meta: { [KEY.subscriptionId]: id }, notifications: {} },
        });
        stream.send(cancelled('another'));
        stream.send(cancelled(id));
        stream.send(resultText(request, { resultType: 'complete', _meta: { [KEY.subscriptionId]: id } }));
        stream.end();
      }),
    ),
  );
  const gateway = closing(await startGateway(upstream.url));
  const listen = modernText('own', 'subscriptions/listen', { notifications: {} });
  const response = await postModern(gateway.url, listen);
  await response.text();
  const [acknowledged, ...others] = response.messages;
  expect(acknowledged.params._meta[KEY.subscriptionId]).toBe('own');
  expect(others).toEqual([
    cancelled('own'),
    { jsonrpc: '2.0', id: 'own', result: { resultType: 'complete', _meta: { [KEY.subscriptionId]: 'own' } } },
  ]);
});

test('X20 what a modern server cancels besides cannot take a question from a legacy client', async () => {
  const asked: unknown[] = [];
  const upstream = closing(
    await startScriptedServer(
      roundsScript([
        inputRequiredText({ q: form('one') }, '"s"'),
        (request, res) => {
          const stream = openStream(res);
          // The gateway counts its questions: this is the id of the one that was asked.
          stream.send(cancelled(asked[0]));
          stream.send(cancelled(request.message.id));
          stream.send(resultText(request, { resultType: 'complete', content: [] }));
          stream.end();
        },
      ]),
    ),
  );
  const gateway = closing(await startGateway(upstream.url));
  const session = await openWireSession(gateway.url, { capabilities: { elicitation: {} } });
  const response = await session.request(1, 'tools/call', { name: 'ask', arguments: {} });
  const question = await nextQuestion(response);
  asked.push(question.id);
  await session.post(responseTo(question.id, { action: 'decline' }));
  expect(await response.nextMessage()).toMatchObject({ id: 1, result: { content: [] } });
});

import { describe, expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { startScriptedServer } from '../peers/scripted-server.js';
import { openWireSession } from '../peers/wire-client.js';
import { DrivenServer } from './driven-server.js';
import { answers, asked, runLeg } from './legs.js';
import { DONE, SAMPLING, inputRequiredText, nextQuestion, responseTo, roundsScript } from './rounds.js';

const TEXT = { type: 'text', text: 'hi' };
const PICTURE = { type: 'image', data: 'AA==', mimeType: 'image/png' };
const SOUND = { type: 'audio', data: 'AA==', mimeType: 'audio/wav' };

/** A client of that revision, and the question it is asked during a call. */
async function questioned(revision: string, asking: object) {
  const upstream = closing(
    await startScriptedServer(roundsScript([inputRequiredText({ q: asking }, '"s"'), DONE])),
  );
  const gateway = closing(await startGateway(upstream.url));
  const capabilities = { sampling: {}, elicitation: {} };
  const session = await openWireSession(gateway.url, { revision, capabilities });
  const response = await session.request(1, 'tools/call', { name: 'ask', arguments: {} });
  return { session, response, question: await nextQuestion(response) };
}

// Since 2025-11-25 a message has one content block or several, before that one; 2024-11-05 has no audio.
describe('X19, X15 questions in words of the legacy side', () => {
  test.each([
    ['2025-11-25', [{ role: 'user', content: [TEXT, PICTURE] }]],
    [
      '2025-06-18',
      [
        { role: 'user', content: TEXT },
        { role: 'user', content: PICTURE },
      ],
    ],
  ])(
    'X19 a client of %s is asked with as many blocks to a message as it knows',
    async (revision, messages) => {
      const asking = { ...SAMPLING, params: { messages: [{ role: 'user', content: [TEXT, PICTURE] }] } };
      const upstream = closing(
        await startScriptedServer(roundsScript([inputRequiredText({ q: asking }, '"s"'), DONE])),
      );
      const gateway = closing(await startGateway(upstream.url));
      const session = await openWireSession(gateway.url, { revision, capabilities: { sampling: {} } });
      const response = await session.request(1, 'tools/call', { name: 'ask', arguments: {} });
      const question = await nextQuestion(response);
      expect(question.params.messages).toEqual(messages);
      await session.post(responseTo(question.id, { role: 'assistant', model: 'm', content: TEXT }));
      expect((await response.nextMessage()).result.content[0].text).toBe('done');
    },
  );

  test.each([
    ['2025-11-25', { type: 'string', oneOf: [{ const: 'r', title: 'Red' }] }],
    ['2025-06-18', { type: 'string', enum: ['r'], enumNames: ['Red'] }],
  ])('X15 a client of %s is shown choices as it knows them', async (revision, expected) => {
    const choices = { type: 'string', oneOf: [{ const: 'r', title: 'Red' }] };
    const params = { message: 'm', requestedSchema: { type: 'object', properties: { color: choices } } };
    const { question } = await questioned(revision, { method: 'elicitation/create', params });
    expect(question.params.requestedSchema.properties).toEqual({ color: expected });
  });

  test.each([
    ['2025-11-25', [TEXT], [TEXT]],
    ['2025-06-18', [TEXT], TEXT],
    ['2025-06-18', TEXT, TEXT],
    ['2024-11-05', SOUND, expect.objectContaining({ type: 'text' })],
  ])('X19 a server of %s gets an answer it knows: %j', async (revision, content, expected) => {
    const upstream = closing(await DrivenServer.start({ revision }));
    const gateway = closing(await startGateway(upstream.url));
    const leg = runLeg(gateway.url);
    const call = await upstream.call();
    call.ask(1, SAMPLING);
    const { state, keys } = asked((await leg).message);
    const retry = runLeg(gateway.url, {
      requestState: state,
      inputResponses: answers(keys, { role: 'assistant', model: 'm', content }),
    });
    expect((await upstream.answerTo(1)).result).toEqual({ role: 'assistant', model: 'm', content: expected });
    call.finish();
    expect((await retry).message.result.content[0].text).toBe('done');
  });

  test('X19 a question on the standalone stream is answered in the same words', async () => {
    const upstream = closing(await DrivenServer.start({ revision: '2025-06-18' }));
    const gateway = closing(await startGateway(upstream.url));
    const leg = runLeg(gateway.url);
    const call = await upstream.call();
    await upstream.until(() => upstream.streams.length > 0);
    upstream.streams[0]?.send({ jsonrpc: '2.0', id: 'outside', ...SAMPLING });
    const { state, keys } = asked((await leg).message);
    const retry = runLeg(gateway.url, {
      requestState: state,
      inputResponses: answers(keys, { role: 'assistant', model: 'm', content: [TEXT] }),
    });
    expect((await upstream.answerTo('outside')).result.content).toEqual(TEXT);
    call.finish();
    expect((await retry).message.result.content[0].text).toBe('done');
  });
});

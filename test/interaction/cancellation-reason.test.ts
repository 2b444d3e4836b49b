import { describe, expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { openWireSession } from '../peers/wire-client.js';
import { DrivenServer } from './driven-server.js';
import { form, nextQuestion } from './rounds.js';

/** A legacy client in front of a legacy server driven from the test, with a call in progress. */
async function started() {
  const upstream = closing(await DrivenServer.start());
  const gateway = closing(await startGateway(upstream.url));
  const session = await openWireSession(gateway.url, { capabilities: { elicitation: {} } });
  const response = await session.request(7, 'tools/call', { name: 'ask', arguments: {} });
  return { upstream, session, response, call: await upstream.call() };
}

// Both sides should log it, and who cancelled is the only one who knows it.
// @see /specification/2025-11-25/basic/utilities/cancellation#implementation-notes
describe('X20 the reason of a cancellation, between legacy peers', () => {
  test.each([
    ['its own words', { reason: 'the user \u2028 "changed" her mind' }],
    ['none', {}],
  ])('X20 the server hears of the client in %s', async (_, { reason }: { reason?: string }) => {
    const { upstream, session, call } = await started();
    await session.notify('notifications/cancelled', {
      requestId: 7,
      ...(reason !== undefined && { reason }),
    });
    const [notice] = await upstream.notifications('notifications/cancelled');
    expect(notice?.message.params).toEqual({
      requestId: call.request.message.id,
      reason: reason ?? 'the client cancelled the request',
    });
  });

  test('X20 the client hears why the server took its question back', async () => {
    const { call, response } = await started();
    call.ask('q', form('one'));
    const question = await nextQuestion(response);
    const params = { requestId: 'q', reason: 'it was answered elsewhere' };
    call.stream.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
    expect(await response.nextMessage()).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: question.id, reason: params.reason },
    });
  });
});

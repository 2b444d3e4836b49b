import { describe, expect, test } from 'vitest';
import { gate } from '../interaction/rounds.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { answer, answerResult, legacyScript, startScriptedServer } from '../peers/scripted-server.js';
import { callModern, openWireSession } from '../peers/wire-client.js';

/** A legacy server that takes its time over `initialized`, and tells the order in which it answered. */
async function started() {
  const taken = gate();
  const order: string[] = [];
  const upstream = closing(
    await startScriptedServer(
      legacyScript(
        (request, res) => {
          order.push(request.method ?? '');
          answerResult(res, request, { tools: [] });
        },
        {
          notification: async (request, res) => {
            if (request.method === 'notifications/initialized') await taken.opened;
            order.push(request.method ?? '');
            answer(res, 202, '', {});
          },
        },
      ),
    ),
  );
  return { upstream, taken, order, url: closing(await startGateway(upstream.url)).url };
}

// @see /specification/2025-11-25/basic/lifecycle#initialization
describe('X1 no request overtakes notifications/initialized', () => {
  test('X1 of a legacy client', async () => {
    const { upstream, taken, order, url } = await started();
    const session = await openWireSession(url);
    const listing = session.call('tools/list');
    // A ping is answered by the gateway: the list before it is under way.
    await session.call('ping');
    await expect.poll(() => upstream.requestsFor('notifications/initialized')).toHaveLength(1);
    taken.open();
    expect((await listing).message).toHaveProperty('result.tools');
    await session.call('tools/list');
    expect(order).toEqual(['notifications/initialized', 'tools/list', 'tools/list']);
  });

  test('X1 of the gateway, for a modern client', async () => {
    const { upstream, taken, order, url } = await started();
    const listing = callModern(url, 'tools/list');
    await expect.poll(() => upstream.requestsFor('notifications/initialized')).toHaveLength(1);
    taken.open();
    expect((await listing).message).toHaveProperty('result.tools');
    expect(order).toEqual(['notifications/initialized', 'tools/list']);
  });
});

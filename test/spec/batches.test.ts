import { describe, expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { legacyScript, startScriptedServer } from '../peers/scripted-server.js';
import { initializeText, openWireSession, requestText } from '../peers/wire-client.js';

/** A session of the one revision that has batches, in front of a server that answers nothing but `initialize`. */
async function started() {
  const upstream = closing(await startScriptedServer(legacyScript(() => undefined)));
  const gateway = closing(await startGateway(upstream.url));
  return { upstream, session: await openWireSession(gateway.url, { revision: '2025-03-26' }) };
}

// @see /specification/2025-03-26/basic/lifecycle#initialization and https://www.jsonrpc.org/specification#batch
describe('X15 batches of 2025-03-26', () => {
  test('X15 initialize in one is refused, and what is beside it is served', async () => {
    const { upstream, session } = await started();
    const ping = requestText('p', 'ping');
    const response = await session.post(`[${initializeText({ revision: '2025-03-26', id: 'i' })},${ping}]`);
    const answers = JSON.parse(await response.text()) as { id: string }[];
    expect(response.status).toBe(200);
    expect(answers).toHaveLength(2);
    expect(answers.find(({ id }) => id === 'i')).toMatchObject({ error: { code: -32600 } });
    expect(answers.find(({ id }) => id === 'p')).toMatchObject({ result: {} });
    expect(upstream.requestsFor('initialize')).toHaveLength(1);
  });

  test('X20 one whose requests are all cancelled is answered by nothing, and not by an empty array', async () => {
    const { upstream, session } = await started();
    const posting = session.post(`[${requestText(1, 'vendor/a')},${requestText(2, 'vendor/b')}]`);
    await expect.poll(() => upstream.requestsFor('vendor/b')).toHaveLength(1);
    for (const requestId of [1, 2]) await session.notify('notifications/cancelled', { requestId });
    const response = await posting;
    expect([response.status, response.isStream, await response.text()]).toEqual([
      200,
      true,
      expect.any(String),
    ]);
    expect(response.blocks.filter(({ data }) => data !== undefined)).toEqual([]);
  });
});

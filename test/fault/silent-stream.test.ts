import { expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { answerResult, legacyScript, startScriptedServer } from '../peers/scripted-server.js';
import { KEY, callModern } from '../peers/wire-client.js';

test('X29 a server whose standalone streams open in silence delays the first session, not every call', async () => {
  const upstream = closing(
    await startScriptedServer(
      legacyScript((request, res) => answerResult(res, request, { content: [] }), { get: () => undefined }),
    ),
  );
  const { url } = closing(await startGateway(upstream.url, {}, { sessions: 'exclusive', era: 'legacy' }));
  const meta = { [KEY.clientCapabilities]: { roots: {} } };
  const took: number[] = [];
  for (let call = 0; call < 4; call++) {
    const before = performance.now();
    expect((await callModern(url, 'tools/call', { name: 't' }, { meta })).status).toBe(200);
    took.push(performance.now() - before);
  }
  // The stream was there before `initialized` each time all the same.
  const order = upstream.requests.map(({ httpMethod, method }) => method ?? httpMethod);
  const first = order.indexOf('GET');
  expect(first).toBeLessThan(order.indexOf('notifications/initialized'));
  expect(Math.min(...took.slice(1))).toBeLessThan(1500);
});

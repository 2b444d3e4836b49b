import { expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import {
  type Script,
  legacyScript,
  modernScript,
  openStream,
  progressFor,
  resultText,
  startScriptedServer,
} from '../peers/scripted-server.js';
import { openWireClient } from '../peers/wire-client.js';

/** A server whose first stream breaks off after some progress, and which counts anew when it is asked again. */
function breakingOff(): Script {
  let calls = 0;
  return (request, res) => {
    const stream = openStream(res);
    calls++;
    const values = calls === 1 ? [1, 5] : [2, 5, 6];
    for (const value of values) stream.send(progressFor(request, value));
    if (calls > 1) stream.send(resultText(request, { contents: [] }));
    stream.end();
  };
}

// A read whose answer was lost is sent again by the gateway; its client made one request, of which progress must grow.
// @see /specification/2026-07-28/basic/patterns/progress and /specification/2025-11-25/basic/utilities/progress
test.each(['legacy', 'modern'] as const)(
  'X22 progress of a read that is sent again grows, %s client and server',
  async (era) => {
    const script = (era === 'legacy' ? legacyScript : modernScript)(breakingOff());
    const upstream = closing(await startScriptedServer(script));
    const gateway = closing(await startGateway(upstream.url));
    const client = await openWireClient(era, gateway.url);
    const response = await client.request(
      1,
      'resources/read',
      { uri: 'a:b' },
      { meta: { progressToken: 'p' } },
    );
    expect(await response.rpc()).toHaveProperty('result.contents');
    expect(upstream.requestsFor('resources/read')).toHaveLength(2);
    expect(response.messages.flatMap(({ params }) => params?.progress ?? [])).toEqual([1, 5, 6]);
  },
);

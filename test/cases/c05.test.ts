import { describe, expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { connectLegacyClient } from '../peers/legacy-client.js';
import { connectModernClient } from '../peers/modern-client.js';
import { startGateway } from '../peers/gateway.js';
import {
  type Script,
  answer,
  answerResult,
  answerRpcError,
  discoverResult,
  legacyScript,
  modernScript,
  scriptedTool,
  startScriptedServer,
} from '../peers/scripted-server.js';
import { callModern } from '../peers/wire-client.js';

const calls: Script = (request, res) => answerResult(res, request, { tools: [scriptedTool('t')] });

const refusing =
  (status: number, data: unknown): Script =>
  (request, res) =>
    answerRpcError(res, request, status, -32022, 'Unsupported protocol version', data);

const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18'];

/** Answers that look modern and say legacy. */
const LEGACY_ANSWERS: [string, Script][] = [
  [
    '200 listing legacy versions only',
    (request, res) => answerResult(res, request, discoverResult({}, LEGACY_VERSIONS)),
  ],
  ['200 listing nothing', (request, res) => answerResult(res, request, discoverResult({}, []))],
  [
    '200 listing a version of the future',
    (request, res) => answerResult(res, request, discoverResult({}, ['2031-01-01', '2025-11-25'])),
  ],
  [
    '200 listing things that are no strings',
    (request, res) => answerResult(res, request, discoverResult({}, [20260728, null, { v: '2026-07-28' }])),
  ],
  [
    '400 -32022 naming a legacy version',
    refusing(400, { supported: ['2025-11-25'], requested: '2026-07-28' }),
  ],
  ['200 -32022 naming legacy versions', refusing(200, { supported: LEGACY_VERSIONS })],
  ['400 -32022 naming nothing', refusing(400, { supported: [] })],
  ['400 -32022 without data', refusing(400, undefined)],
  ['400 -32022 with data of another shape', refusing(400, { supported: '2026-07-28' })],
];

describe.each(LEGACY_ANSWERS)('C5 discover is answered with %s', (_, discover) => {
  test('C5 it is legacy, and its tools are there for both clients', async () => {
    const upstream = closing(await startScriptedServer(legacyScript(calls, { discover })));
    const gateway = closing(await startGateway(upstream.url));
    const modern = closing(await connectModernClient(gateway.url));
    expect((await modern.client.listTools()).tools.map(({ name }) => name)).toEqual(['t']);
    const legacy = closing(await connectLegacyClient(gateway.url));
    expect((await legacy.client.listTools()).tools.map(({ name }) => name)).toEqual(['t']);
    expect(gateway.verdict('default')?.era).toBe('legacy');
    expect(upstream.requestsFor('server/discover')).toHaveLength(1);
  });
});

describe('C5 the reverse', () => {
  const listing: Script = (request, res) =>
    answerResult(res, request, {
      resultType: 'complete',
      tools: [scriptedTool('t')],
      ttlMs: 0,
      cacheScope: 'private',
    });

  test.each<[string, Script]>([
    [
      'both eras listed',
      (request, res) => answerResult(res, request, discoverResult({}, ['2025-11-25', '2026-07-28'])),
    ],
    ['400 -32022 naming the modern version', refusing(400, { supported: ['2026-07-28'] })],
    ['200 -32022 naming both', refusing(200, { supported: ['2026-07-28', '2025-11-25'] })],
  ])('C5 %s: modern', async (_, discover) => {
    let asked = 0;
    const upstream = closing(
      await startScriptedServer(
        modernScript(listing, {
          // Such servers refuse the first request of a client they have not met, and serve the next.
          discover: (request, res) => {
            asked++;
            if (asked === 1) return discover(request, res);
            answerResult(res, request, discoverResult());
          },
        }),
      ),
    );
    const gateway = closing(await startGateway(upstream.url));
    const { message } = await callModern(gateway.url, 'tools/list');
    expect(message.result.tools).toHaveLength(1);
    expect(gateway.verdict('default')?.era).toBe('modern');
    expect(upstream.requestsFor('initialize')).toEqual([]);
  });

  test('C5 neither era: an error that says so, and no verdict', async () => {
    const refuse: Script = (_, res) => answer(res, 404, 'no such thing', { 'content-type': 'text/plain' });
    const upstream = closing(
      await startScriptedServer(legacyScript(refuse, { discover: refuse, initialize: refuse })),
    );
    const gateway = closing(await startGateway(upstream.url));
    const { status, message } = await callModern(gateway.url, 'tools/list', {}, { id: 0 });
    expect(status).toBe(502);
    expect(message).toMatchObject({ id: 0, error: { code: expect.any(Number) } });
    expect(gateway.verdict('default')).toBeUndefined();
  });
});

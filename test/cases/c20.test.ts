import { describe, expect, test } from 'vitest';
import { CELLS, ERAS, startScript } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import {
  type Script,
  answer,
  answerResult,
  answerRpcError,
  openStream,
  progressFor,
  resultText,
  scriptedTool,
} from '../peers/scripted-server.js';
import { openWireClient, openWireSession } from '../peers/wire-client.js';

/** Ways of running a tool and not saying how it went. */
const SILENT_ENDS: [string, Script][] = [
  ['closes before any answer', (_, res) => void res.destroy()],
  ['resets the connection', (_, res) => void res.socket?.resetAndDestroy()],
  [
    'closes in the middle of a JSON body',
    (request, res) => {
      const body = resultText(request, { content: [] });
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': String(body.length) });
      res.write(body.slice(0, 20), () => res.destroy());
    },
  ],
  [
    'closes in the middle of an event',
    (request, res) => {
      openStream(res).raw(`data: ${resultText(request, { content: [] }).slice(0, 20)}`);
      setImmediate(() => res.destroy());
    },
  ],
  [
    'ends its stream before the response',
    (request, res) => {
      const stream = openStream(res);
      stream.send(progressFor(request, 1));
      stream.end();
    },
  ],
  ['ends its stream without an event', (_, res) => openStream(res).end()],
];

describe.each(CELLS)('C20 a tool must not run twice, $cell', (cell) => {
  test.each(SILENT_ENDS)('C20 the upstream %s: outcome unknown, one call', async (_, respond) => {
    const upstream = closing(await startScript(cell.upstream, respond, { tools: [scriptedTool('t')] }));
    const gateway = closing(await startGateway(upstream.url));
    const client = await openWireClient(cell.client, gateway.url);
    const { status, message } = await client.call(
      'tools/call',
      { name: 't' },
      { id: 'once', meta: { progressToken: 1 } },
    );
    expect(message).toMatchObject({ jsonrpc: '2.0', id: 'once', error: { code: -31003 } });
    expect(message.error.message).toMatch(/may or may not have run/);
    // Where a stream was opened for the progress that came first, its status was sent long ago.
    expect([502, 200]).toContain(status);
    expect(upstream.requestsFor('tools/call')).toHaveLength(1);
    const again = await client.call('tools/call', { name: 't' }, { id: 'twice' });
    expect(again.message.error.code).toBe(-31003);
    expect(upstream.requestsFor('tools/call')).toHaveLength(2);
  });

  test.each(SILENT_ENDS)(
    'C20 a list that the upstream %s is asked once more, and no more',
    async (_, respond) => {
      let asked = 0;
      const upstream = closing(
        await startScript(cell.upstream, (request, res) => {
          asked++;
          if (asked === 1 || asked > 2) return respond(request, res);
          answerResult(res, request, { resultType: 'complete', prompts: [{ name: 'p' }] });
        }),
      );
      const gateway = closing(await startGateway(upstream.url));
      const client = await openWireClient(cell.client, gateway.url);
      const { message } = await client.call('prompts/list', {}, { id: 0 });
      expect(message).toMatchObject({ id: 0, result: { prompts: [{ name: 'p' }] } });
      expect(upstream.requestsFor('prompts/list')).toHaveLength(2);
      const lost = await client.call('prompts/list', {}, { id: 1 });
      expect(lost.message).toMatchObject({ id: 1, error: { code: -31003 } });
      expect(upstream.requestsFor('prompts/list')).toHaveLength(4);
    },
  );

  test('C20 a vendor method is not repeated either: nobody knows what it does', async () => {
    const upstream = closing(await startScript(cell.upstream, (_, res) => void res.destroy()));
    const gateway = closing(await startGateway(upstream.url));
    const client = await openWireClient(cell.client, gateway.url);
    const { message } = await client.call('vendor/pay');
    expect(message.error.code).toBe(-31003);
    expect(upstream.requestsFor('vendor/pay')).toHaveLength(1);
  });

  test('C20 a connection the upstream had closed while it was idle is no reason to fail', async () => {
    const upstream = closing(
      await startScript(
        cell.upstream,
        (request, res) =>
          answerResult(res, request, { resultType: 'complete', content: [] }, { connection: 'close' }),
        { tools: [scriptedTool('t')] },
      ),
    );
    const gateway = closing(await startGateway(upstream.url));
    const client = await openWireClient(cell.client, gateway.url);
    for (let id = 0; id < 5; id++) {
      expect((await client.call('tools/call', { name: 't' }, { id })).status).toBe(200);
    }
    expect(upstream.requestsFor('tools/call')).toHaveLength(5);
  });
});

describe.each(ERAS)('C20 a legacy upstream that can be resumed, %s client', (era) => {
  test('C20 the answer is fetched by GET with the last event id, not by a second call', async () => {
    let result = '';
    const upstream = closing(
      await startScript(
        'legacy',
        (request, res) => {
          const stream = openStream(res);
          result = resultText(request, { content: [{ type: 'text', text: 'ran once' }] });
          stream.raw('id: e1\nretry: 10\ndata: \n\n');
          stream.send(progressFor(request, 1), 'e2');
          stream.end();
        },
        {
          get: (request, res) => {
            if (request.headers['last-event-id'] === undefined) {
              answer(res, 405, '', {});
              return;
            }
            const stream = openStream(res);
            stream.send(result, 'e3');
            stream.end();
          },
        },
      ),
    );
    const gateway = closing(await startGateway(upstream.url));
    const client = await openWireClient(era, gateway.url);
    const { message } = await client.call('tools/call', { name: 't' }, { meta: { progressToken: 1 } });
    expect(message.result.content[0].text).toBe('ran once');
    expect(upstream.requestsFor('tools/call')).toHaveLength(1);
    const resumes = upstream.requests.filter(({ headers }) => headers['last-event-id'] !== undefined);
    expect(resumes.map(({ headers }) => headers['last-event-id'])).toEqual(['e2']);
    expect(resumes[0]?.headers['mcp-session-id']).toBe('session-1');
  });

  test('C20 a refused resume is an unknown outcome', async () => {
    const upstream = closing(
      await startScript(
        'legacy',
        (_, res) => {
          const stream = openStream(res);
          stream.raw('id: e1\nretry: 10\ndata: \n\n');
          stream.end();
        },
        { get: (_, res) => answer(res, 400, '', {}) },
      ),
    );
    const gateway = closing(await startGateway(upstream.url));
    const client = await openWireClient(era, gateway.url);
    const { message } = await client.call('tools/call', { name: 't' });
    expect(message.error.code).toBe(-31003);
    expect(upstream.requestsFor('tools/call')).toHaveLength(1);
  });
});

describe('C20 what proves that a call did not run may be repeated', () => {
  test('C20 -32020 from a modern upstream: the list is refreshed, and the call sent once more', async () => {
    let region = 'Old';
    const tools = (): object[] => [
      scriptedTool('t', {
        inputSchema: { type: 'object', properties: { r: { type: 'string', 'x-mcp-header': region } } },
      }),
    ];
    const upstream = closing(
      await startScript('modern', (request, res) => {
        if (request.method === 'tools/list') {
          answerResult(res, request, {
            resultType: 'complete',
            tools: tools(),
            ttlMs: 0,
            cacheScope: 'private',
          });
        } else if (request.headers[`mcp-param-${region.toLowerCase()}`] !== 'eu') {
          answerRpcError(res, request, 400, -32020, 'Header mismatch');
        } else {
          answerResult(res, request, { resultType: 'complete', content: [{ type: 'text', text: 'ran' }] });
        }
      }),
    );
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    await session.call('tools/list');
    region = 'New';
    const { message } = await session.call('tools/call', { name: 't', arguments: { r: 'eu' } });
    expect(message.result.content[0].text).toBe('ran');
    const calls = upstream.requestsFor('tools/call');
    expect(calls.map(({ headers }) => [headers['mcp-param-old'], headers['mcp-param-new']])).toEqual([
      ['eu', undefined],
      [undefined, 'eu'],
    ]);
  });

  test('C20 -32020 again and again: two calls, then an error', async () => {
    const upstream = closing(
      await startScript('modern', (request, res) => answerRpcError(res, request, 400, -32020, 'no'), {
        tools: [scriptedTool('t')],
      }),
    );
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    const { message } = await session.call('tools/call', { name: 't' });
    expect(message.error.code).toBe(-32603);
    expect(upstream.requestsFor('tools/call')).toHaveLength(2);
  });
});

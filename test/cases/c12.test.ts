import { describe, expect, test } from 'vitest';
import { CELLS, ERAS, startScript } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { type RawResponse, sendRaw } from '../peers/raw-client.js';
import { type Script, answer, openStream, resultText, scriptedTool } from '../peers/scripted-server.js';
import {
  type Era,
  KEY,
  MODERN,
  POST_HEADERS,
  type WireSession,
  openWireClient,
  openWireSession,
} from '../peers/wire-client.js';

/** JSON that a parser and printer would change, as it stands in a body. */
const PAYLOADS: [string, string][] = [
  [
    'numbers and names no parser keeps',
    '{"id":9007199254740993,"n":1e400,"d":1.10,"z":-0.0,"__proto__":{"k":1},"futureKey":true}',
  ],
  ['white space', '{ "a" : [ 1 ,\t2 ] , "b":{ } }'],
  ['escapes', '{"s":"\\u00e9\\/\\ud83d\\ude00\\ud800","nul":"\\u0000","\\u006bey":"\\u2028"}'],
  ['raw characters beyond ASCII', '{"é":"日本語 😀 \u007f"}'],
  ['repeated and empty names', '{"a":1,"a":{"a":2},"":0,"constructor":null,"toString":[]}'],
  [
    'digits without end',
    '{"pi":3.14159265358979323846264338327950288,"e":1E-0400,"i":-123456789012345678901}',
  ],
  [
    'names an envelope has',
    '{"jsonrpc":"1.0","id":null,"method":7,"result":{},"error":"x","resultType":"y"}',
  ],
];

/** The text of a `tools/call`, with members placed byte for byte. */
function callText(era: Era, args: string, meta: string, id = '"c12"'): string {
  const own =
    era === 'legacy'
      ? ''
      : `"${KEY.protocolVersion}":"${MODERN}","${KEY.clientCapabilities}":{},"${KEY.clientInfo}":{"name":"c","version":"1"},`;
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"t","arguments":${args},"_meta":{${own}"example.com/x":${meta}}}}`;
}

/** The text of a result that carries the payload in every place of its own. */
function payloadResult(era: Era, payload: string): string {
  const type = era === 'modern' ? '"resultType":"complete",' : '';
  return `{${type}"content":[{"type":"text","text":"t","_meta":${payload}}],"structuredContent":${payload},"_meta":{"example.com/y":${payload}},"futureMember":${payload}}`;
}

async function started(
  cell: { client: Era; upstream: Era },
  respond: Script,
  overrides: Record<string, unknown> = {},
) {
  const upstream = closing(await startScript(cell.upstream, respond, { tools: [scriptedTool('t')] }));
  const gateway = closing(await startGateway(upstream.url, overrides));
  let session: WireSession | undefined;
  const post = async (body: string): Promise<RawResponse> => {
    if (cell.client === 'modern') {
      // JSON.parse must not be what finds the headers: the bodies here are beyond it.
      return sendRaw(gateway.url, {
        headers: {
          ...POST_HEADERS,
          'mcp-protocol-version': MODERN,
          'mcp-method': 'tools/call',
          'mcp-name': 't',
        },
        body,
      });
    }
    session ??= await openWireSession(gateway.url);
    return session.post(body);
  };
  return { upstream, gateway, post };
}

/** The number of times `part` stands in `text`. */
const occurrences = (text: string, part: string): number => text.split(part).length - 1;

describe.each(CELLS)('C12 JSON fidelity, $cell', (cell) => {
  test.each(PAYLOADS)('C12 %s: the same bytes on the other side', async (_, payload) => {
    const { upstream, post } = await started(cell, (request, res) =>
      answer(res, 200, resultText(request, payloadResult(cell.upstream, payload))),
    );
    const response = await post(callText(cell.client, payload, payload));
    expect(response.status).toBe(200);
    const text = await response.text();
    const [seen] = upstream.requestsFor('tools/call');
    expect(seen?.body).toContain(`"arguments":${payload}`);
    expect(seen?.body).toContain(`"example.com/x":${payload}`);
    expect(text).toContain(`"structuredContent":${payload}`);
    expect(text).toContain(`"example.com/y":${payload}`);
    expect(text).toContain(`"futureMember":${payload}`);
    expect(occurrences(text, payload)).toBe(4);
    expect(text.startsWith('{"jsonrpc":"2.0","id":"c12","result":{')).toBe(true);
  });

  test.each(PAYLOADS)('C12 %s: on a stream, in progress, log data and result', async (_, payload) => {
    const { post } = await started(cell, (request, res) => {
      const stream = openStream(res);
      const { progressToken } = request.message.params._meta;
      stream.send(
        `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${progressToken},"progress":1,"future":${payload}}}`,
      );
      stream.send(resultText(request, payloadResult(cell.upstream, payload)));
      stream.end();
    });
    const body = callText(cell.client, '{}', `1,"progressToken":"tok"`);
    const response = await post(body);
    await response.text();
    const lines = response.blocks.flatMap(({ data }) => (data === undefined || data === '' ? [] : [data]));
    expect(lines).toHaveLength(2);
    expect(lines[0]).toBe(
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"tok","progress":1,"future":${payload}}}`,
    );
    expect(occurrences(lines[1] ?? '', payload)).toBe(4);
  });

  test.each(PAYLOADS)('C12 %s: in the data of an error', async (_, payload) => {
    const { post } = await started(cell, (request, res) =>
      answer(
        res,
        200,
        `{"jsonrpc":"2.0","id":${request.message.id},"error":{"code":42,"message":"m","data":${payload}}}`,
      ),
    );
    const response = await post(callText(cell.client, '{}', '1'));
    const text = await response.text();
    expect(text).toBe(`{"jsonrpc":"2.0","id":"c12","error":{"code":42,"message":"m","data":${payload}}}`);
  });

  test.each(['0', '"0"', '9007199254740993', '1.0', '-0', '1e2', '"\\u0041"', '""'])(
    'C12 the id %s comes back as it was written',
    async (id) => {
      const { post } = await started(cell, (request, res) =>
        answer(res, 200, resultText(request, payloadResult(cell.upstream, '{}'))),
      );
      const response = await post(callText(cell.client, '{}', '1', id));
      expect((await response.responseText()).startsWith(`{"jsonrpc":"2.0","id":${id},"result":`)).toBe(true);
    },
  );

  test('C12 line breaks between tokens are gone on a stream only, and separators in strings are escaped', async () => {
    const pretty = '{\r\n  "a": 1,\n\n  "s": "x\u2028y\u2029z"\r}';
    const { post } = await started(cell, (request, res) => {
      const stream = openStream(res);
      const { progressToken } = request.message.params._meta;
      stream.send({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken, progress: 1 },
      });
      const data = resultText(request, payloadResult(cell.upstream, pretty)).split(/\r\n|\n|\r/);
      stream.raw(`${data.map((line) => `data: ${line}\n`).join('')}\n`);
      stream.end();
    });
    const response = await post(callText(cell.client, '{}', `1,"progressToken":1`));
    const text = await response.responseText();
    expect(text).toContain('"structuredContent":{  "a": 1,  "s": "x\\u2028y\\u2029z"}');
    expect(response.received).not.toMatch(/[\u2028\u2029]/);
  });

  test.each(['arguments', 'result'])(
    'C12 depth 10,000 in the %s: a clean error at the default bound, and the gateway lives on',
    async (place) => {
      const deep = `{"d":${'['.repeat(10_000)}${']'.repeat(10_000)}}`;
      const { upstream, post } = await started(cell, (request, res) => {
        const payload = place === 'result' && request.message.params.arguments.deep === 1 ? deep : '{}';
        answer(res, 200, resultText(request, payloadResult(cell.upstream, payload)));
      });
      const response = await post(callText(cell.client, place === 'result' ? '{"deep":1}' : deep, '1'));
      const { error, id } = JSON.parse(await response.responseText());
      if (place === 'arguments') {
        expect(response.status).toBe(400);
        expect(error.code).toBe(-32600);
        expect(upstream.requestsFor('tools/call')).toEqual([]);
      } else {
        expect(response.status).toBe(502);
        expect(id).toBe('c12');
        expect(error.code).toBe(-31002);
      }
      const next = await post(callText(cell.client, '{}', '1'));
      expect(next.status).toBe(200);
      expect(await next.responseText()).toContain('"structuredContent":{}');
    },
  );

  test('C12 depth 10,000 passes byte for byte where the bound allows it', async () => {
    const deep = `{"d":${'['.repeat(5000)}${'{"k":'.repeat(5000)}1.0${'}'.repeat(5000)}${']'.repeat(5000)}}`;
    const { upstream, post } = await started(
      cell,
      (request, res) =>
        answer(
          res,
          200,
          `{"jsonrpc":"2.0","id":${/"id":(\d+)/.exec(request.body)?.[1]},"result":${payloadResult(cell.upstream, deep)}}`,
        ),
      { limits: { jsonDepth: 20_000 } },
    );
    const response = await post(callText(cell.client, deep, '1'));
    const text = await response.text();
    expect(upstream.requestsFor('tools/call')[0]?.body.includes(`"arguments":${deep}`)).toBe(true);
    expect(response.status).toBe(200);
    expect(text.includes(`"structuredContent":${deep}`)).toBe(true);
  });
});

describe.each(ERAS)('C12 what is no JSON, %s client', (era) => {
  const never: Script = (_, res) => answer(res, 500, '', {});

  test.each([
    ['a raw control character in a string', '{"s":"a\u0001b"}'],
    ['a raw line break in a string', '{"s":"a\nb"}'],
    ['a comma too many', '{"a":1,}'],
    ['a number with a leading zero', '{"a":01}'],
    ['NaN', '{"a":NaN}'],
    ['a comment', '{"a":1/*c*/}'],
    ['an escape that is none', '{"a":"\\x41"}'],
    ['an end too early', '{"a":'],
  ])('C12 %s: 400, and the upstream never sees it', async (_, args) => {
    const { upstream, post } = await started({ client: era, upstream: 'legacy' }, never);
    const response = await post(callText(era, args, '1'));
    expect(response.status).toBe(400);
    expect((await response.rpc()).error.code).toBe(-32700);
    expect(upstream.requestsFor('tools/call')).toEqual([]);
  });

  test('C12 invalid UTF-8: 400', async () => {
    const { upstream, gateway } = await started({ client: era, upstream: 'legacy' }, never);
    const body = Buffer.from(callText(era, '{"s":"?"}', '1').replace('?', '\u00ff'), 'latin1');
    const headers = { ...POST_HEADERS, 'mcp-protocol-version': MODERN };
    const response = await sendRaw(gateway.url, { headers, body });
    expect(response.status).toBe(400);
    expect((await response.rpc()).error.code).toBe(-32700);
    expect(upstream.requests).toEqual([]);
  });

  test.each(['"id":2,', '"method":"tools/list",', '"params":{},', '"jsonrpc":"2.0",'])(
    'C12 %s a second time in the envelope: 400, as two readers could see two requests',
    async (again) => {
      const { upstream, post } = await started({ client: era, upstream: 'legacy' }, never);
      const response = await post(callText(era, '{}', '1').replace('{', `{${again}`));
      expect(response.status).toBe(400);
      expect((await response.rpc()).error.code).toBe(-32600);
      expect(upstream.requestsFor('tools/call')).toEqual([]);
    },
  );
});

describe.each(CELLS)('C12 what is no JSON from the upstream, $cell', (cell) => {
  test.each<[string, string | Buffer]>([
    [
      'a raw control character',
      '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"a\u0001"}]}}',
    ],
    ['a cut', '{"jsonrpc":"2.0","id":ID,"result":{"content":['],
    ['two ids', '{"jsonrpc":"2.0","id":ID,"id":"c12","result":{}}'],
    ['two texts', '{"jsonrpc":"2.0","id":ID,"result":{}}{}'],
  ])('C12 %s: an error under the id of the client', async (_, body) => {
    const { gateway } = await started(cell, (request, res) =>
      answer(res, 200, String(body).replace('ID', String(request.message.id))),
    );
    const client = await openWireClient(cell.client, gateway.url);
    const { status, message } = await client.call('tools/call', { name: 't' }, { id: 0 });
    expect(status).toBe(502);
    expect(message).toMatchObject({ id: 0, error: { code: -31002 } });
  });

  test('C12 invalid UTF-8: an error under the id of the client', async () => {
    const { gateway } = await started(cell, (request, res) => {
      const text = resultText(request, {
        resultType: 'complete',
        content: [{ type: 'text', text: '\u00ff' }],
      });
      answer(res, 200, Buffer.from(text, 'latin1'));
    });
    const client = await openWireClient(cell.client, gateway.url);
    const { status, message } = await client.call('tools/call', { name: 't' }, { id: '0' });
    expect(status).toBe(502);
    expect(message).toMatchObject({ id: '0', error: { code: -31002 } });
  });
});

test('C12 the cursor of a list is the same text upstream', async () => {
  const cursor = '\\u0041/é"\u007f ';
  const upstream = closing(
    await startScript('modern', (request, res) =>
      answer(res, 200, resultText(request, { resultType: 'complete', prompts: [] })),
    ),
  );
  const gateway = closing(await startGateway(upstream.url));
  const client = await openWireClient('legacy', gateway.url);
  await client.call('prompts/list', { cursor });
  expect(upstream.requestsFor('prompts/list')[0]?.message.params.cursor).toBe(cursor);
});

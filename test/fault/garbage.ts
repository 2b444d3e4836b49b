import type { ServerResponse } from 'node:http';
import type { SeenRequest } from '../peers/peer-log.js';
import { type Script, answer, answerResult, openStream, resultText } from '../peers/scripted-server.js';

/** One way in which an upstream answers a call with something other than what it should. */
export interface Garbage {
  readonly name: string;
  readonly script: Script;
  /** What the client must get: an error, the result all the same, or either. */
  readonly expected: 'error' | 'result' | 'either';
}

/** Above the `upstreamMessageBytes` the tests configure. */
const TOO_LARGE = 'x'.repeat(10 << 20);

const INVALID_UTF8 = Buffer.from([0x22, 0xc3, 0x28, 0xff, 0x22]);

/** The id of the request as JSON text. */
function idOf(request: SeenRequest): string {
  return JSON.stringify(request.message.id);
}

/** The text of a proper response. */
function good(request: SeenRequest): string {
  return resultText(request, { resultType: 'complete', content: [] });
}

/** Writes bytes to the socket, without node's help and without an end. */
function rawly(res: ServerResponse, bytes: string | Buffer): void {
  res.socket?.write(bytes);
}

/** Cuts the connection with a TCP reset. */
function reset(res: ServerResponse): void {
  res.socket?.resetAndDestroy();
}

/** A JSON body made from the request's id. */
function json(name: string, expected: Garbage['expected'], body: (id: string) => string | Buffer): Garbage {
  return { name, expected, script: (request, res) => answer(res, 200, body(idOf(request))) };
}

/** An event stream that writes something and ends. */
function stream(
  name: string,
  expected: Garbage['expected'],
  write: (sse: ReturnType<typeof openStream>, request: SeenRequest) => void,
): Garbage {
  return {
    name,
    expected,
    script: (request, res) => {
      const sse = openStream(res);
      write(sse, request);
      if (!res.destroyed) sse.end();
    },
  };
}

/** A stream that writes something and stays open. */
function open(
  name: string,
  expected: Garbage['expected'],
  write: (sse: ReturnType<typeof openStream>, request: SeenRequest) => void,
): Garbage {
  return { name, expected, script: (request, res) => write(openStream(res), request) };
}

const SHAPES: readonly (readonly [string, (id: string) => string])[] = [
  ['a result that is an array', (id) => `{"jsonrpc":"2.0","id":${id},"result":[]}`],
  ['a result that is null', (id) => `{"jsonrpc":"2.0","id":${id},"result":null}`],
  ['a result that is a string', (id) => `{"jsonrpc":"2.0","id":${id},"result":"ok"}`],
  ['no result', (id) => `{"jsonrpc":"2.0","id":${id}}`],
  ['an error that is a string', (id) => `{"jsonrpc":"2.0","id":${id},"error":"no"}`],
  ['result and error', (id) => `{"jsonrpc":"2.0","id":${id},"result":{},"error":{"code":1,"message":"x"}}`],
  ['another JSON-RPC version', (id) => `{"jsonrpc":"1.0","id":${id},"result":{}}`],
  ['two ids', (id) => `{"jsonrpc":"2.0","id":${id},"id":${id},"result":{}}`],
  ['two results', (id) => `{"jsonrpc":"2.0","id":${id},"result":{},"result":{}}`],
  [
    'a nesting of 5000',
    (id) => `{"jsonrpc":"2.0","id":${id},"result":{"x":${'['.repeat(5000)}${']'.repeat(5000)}}}`,
  ],
];

export const GARBAGE: readonly Garbage[] = [
  ...SHAPES.map(([name, body]) => json(`${name}, as JSON`, 'error', body)),
  ...SHAPES.map(([name, body]) =>
    open(`${name}, on a stream that stays open`, 'error', (sse, request) => sse.send(body(idOf(request)))),
  ),
  json('random bytes as JSON', 'error', () => Buffer.from([0, 255, 1, 254, 123, 34])),
  json('an empty body', 'error', () => ''),
  json('white space', 'error', () => ' \r\n '),
  json('half a message', 'error', (id) => `{"jsonrpc":"2.0","id":${id},"resu`),
  json('two messages', 'error', (id) => `{"jsonrpc":"2.0","id":${id},"result":{}}`.repeat(2)),
  json('the response to another request', 'error', () => '{"jsonrpc":"2.0","id":"nobody","result":{}}'),
  json('its id as a string', 'error', (id) => `{"jsonrpc":"2.0","id":"${id}","result":{}}`),
  json('a null id', 'error', () => '{"jsonrpc":"2.0","id":null,"result":{}}'),
  json('an error without an id', 'error', () => '{"jsonrpc":"2.0","error":{"code":-32000,"message":"x"}}'),
  json('an error without a code', 'error', (id) => `{"jsonrpc":"2.0","id":${id},"error":{"message":"x"}}`),
  json(
    'an error with a code that is no number',
    'error',
    (id) => `{"jsonrpc":"2.0","id":${id},"error":{"code":"x","message":7}}`,
  ),
  json(
    'an error with an endless code',
    'error',
    (id) => `{"jsonrpc":"2.0","id":${id},"error":{"code":1e400,"message":"x"}}`,
  ),
  json('a request instead of a response', 'error', (id) => `{"jsonrpc":"2.0","id":${id},"method":"ping"}`),
  json(
    'a notification instead of a response',
    'error',
    () => '{"jsonrpc":"2.0","method":"notifications/message","params":{}}',
  ),
  json(
    'a body beyond the limit',
    'error',
    (id) => `{"jsonrpc":"2.0","id":${id},"result":{"x":"${TOO_LARGE}"}}`,
  ),
  json('invalid UTF-8 as JSON', 'error', (id) =>
    Buffer.concat([
      Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{"x":`),
      INVALID_UTF8,
      Buffer.from('}}'),
    ]),
  ),
  json('a raw line break in a string', 'error', (id) => `{"jsonrpc":"2.0","id":${id},"result":{"x":"a\nb"}}`),
  json(
    'CR, LF and U+2028 where JSON allows them',
    'result',
    (id) => `\r\n{\r\n"jsonrpc":\n"2.0",\r"id":${id},"result"\n:{"x":"a\u2028b\u2029c"\r\n}\r\n}\r\n`,
  ),
  json('a byte order mark', 'either', (id) => `\u{feff}{"jsonrpc":"2.0","id":${id},"result":{}}`),
  json(
    'names of prototypes',
    'result',
    (id) => `{"jsonrpc":"2.0","id":${id},"result":{"__proto__":{"isError":true},"constructor":1}}`,
  ),

  stream('random bytes as events', 'error', (sse) => sse.raw(Buffer.from([0, 255, 1, 254, 10, 10]))),
  stream('an empty stream', 'error', () => undefined),
  stream('half an event', 'error', (sse, request) => sse.raw(`data: ${good(request)}`)),
  stream('an event that is no JSON, and then the response', 'result', (sse, request) => {
    sse.send('{"half":');
    sse.send(good(request));
  }),
  stream('an event named otherwise, and then the response', 'either', (sse, request) => {
    sse.raw('event: nonsense\nretry: never\nid: \0\nfoo: bar\ndata: []\n\n');
    sse.send(good(request));
  }),
  stream('the response twice', 'result', (sse, request) => {
    sse.send(good(request));
    sse.send(good(request));
  }),
  stream('a wrong id, and then the response', 'result', (sse, request) => {
    sse.send('{"jsonrpc":"2.0","id":"nobody","result":{}}');
    sse.send(good(request));
  }),
  stream('requests with impossible ids, and then the response', 'result', (sse, request) => {
    for (const id of ['{}', 'null', '[1]', 'true']) sse.send(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
    sse.send(good(request));
  }),
  stream('notifications of all wrong shapes, and then the response', 'result', (sse, request) => {
    for (const params of [
      '{}',
      '{"progressToken":null}',
      '{"progressToken":{},"progress":"x"}',
      '{"requestId":[]}',
      '{"level":7}',
    ]) {
      for (const method of [
        'progress',
        'cancelled',
        'message',
        'resources/updated',
        'elicitation/complete',
      ]) {
        sse.send(`{"jsonrpc":"2.0","method":"notifications/${method}","params":${params}}`);
      }
    }
    sse.send(good(request));
  }),
  stream('invalid UTF-8 in an event', 'error', (sse) =>
    sse.raw(Buffer.concat([Buffer.from('data: '), INVALID_UTF8, Buffer.from('\n\n')])),
  ),
  stream('an event of several data lines', 'result', (sse, request) =>
    sse.raw(`data: ${good(request).replace(',', ',\ndata: ')}\r\n\r\n`),
  ),
  stream('CR, LF and U+2028 in events', 'result', (sse, request) =>
    sse.raw(`data: {"jsonrpc":"2.0",\rdata: "id":${idOf(request)},\r\ndata: "result":{"x":"a\u2028b"}}\r\r`),
  ),
  stream('an event beyond the limit', 'error', (sse) => sse.raw(`data: "${TOO_LARGE}"\n\n`)),
  stream('an event without end beyond the limit', 'error', (sse) => sse.raw(`data: "${TOO_LARGE}`)),
  stream('a comment beyond the limit, and then the response', 'either', (sse, request) => {
    sse.raw(`:${TOO_LARGE}\n`);
    sse.send(good(request));
  }),
  open('an id line and silence', 'error', (sse) => sse.raw('id: 1\nretry: 1\ndata:\n\n')),
  open('silence', 'error', () => undefined),
  {
    name: 'a byte at a time, without end',
    expected: 'error',
    script: (_request, res) => {
      res.writeHead(200, { 'content-type': 'application/json' });
      const timer = setInterval(() => res.write(' '), 20);
      res.once('close', () => clearInterval(timer));
    },
  },
  {
    name: 'an event a byte at a time, without end',
    expected: 'error',
    script: (_request, res) => {
      const sse = openStream(res);
      const timer = setInterval(() => sse.raw('x'), 20);
      res.once('close', () => clearInterval(timer));
    },
  },

  {
    name: 'HTML',
    expected: 'error',
    script: (_q, res) => answer(res, 200, '<html>', { 'content-type': 'text/html' }),
  },
  { name: 'no media type', expected: 'error', script: (_q, res) => answer(res, 200, '{}', {}) },
  { name: '204', expected: 'error', script: (_q, res) => answer(res, 204, '', {}) },
  { name: '304', expected: 'error', script: (_q, res) => answer(res, 304, '', {}) },
  {
    name: '404 HTML',
    expected: 'error',
    script: (_q, res) => answer(res, 404, '<html>', { 'content-type': 'text/html' }),
  },
  {
    name: '500 with 2 MB',
    expected: 'error',
    script: (_q, res) => answer(res, 500, 'x'.repeat(2 << 20), {}),
  },
  {
    name: '599 and a status line of nonsense',
    expected: 'error',
    script: (_q, res) => {
      rawly(res, 'HTTP/1.1 599 \u00fc\r\nContent-Length: 0\r\n\r\n');
      // Node knows nothing of this response: the connection must not carry another request.
      res.socket?.end();
    },
  },
  {
    name: '307 to itself',
    expected: 'error',
    script: (request, res) => answer(res, 307, '', { location: request.path }),
  },
  {
    name: '302 elsewhere',
    expected: 'error',
    script: (_q, res) => answer(res, 302, '', { location: 'http://127.0.0.1:9/' }),
  },
  { name: '307 without a target', expected: 'error', script: (_q, res) => answer(res, 307, '', {}) },
  {
    name: 'compression nobody asked for',
    expected: 'error',
    script: (_q, res) =>
      answer(res, 200, Buffer.from([31, 139, 8, 0]), {
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      }),
  },
  {
    name: 'headers of 200 KB',
    expected: 'error',
    script: (_q, res) =>
      rawly(res, `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(200_000)}\r\nContent-Length: 0\r\n\r\n`),
  },
  {
    name: 'odd response headers',
    expected: 'result',
    script: (request, res) =>
      answerResult(
        res,
        request,
        { content: [] },
        {
          'set-cookie': ['a=b', 'c=d'],
          'mcp-session-id': '\u00fc not a session',
          'www-authenticate': 'x',
          'access-control-allow-origin': '*',
          __proto__x: '1',
        },
      ),
  },
  { name: 'no HTTP', expected: 'error', script: (_q, res) => rawly(res, 'SSH-2.0-OpenSSH_9.6\r\n\r\n') },
  {
    name: 'a body shorter than it says',
    expected: 'error',
    script: (_q, res) => {
      rawly(res, 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{}');
      res.socket?.end();
    },
  },
  {
    name: 'chunks of nonsense',
    expected: 'error',
    script: (_q, res) =>
      rawly(
        res,
        'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      ),
  },
  { name: 'a reset before the head', expected: 'error', script: (_q, res) => reset(res) },
  { name: 'a close before the head', expected: 'error', script: (_q, res) => void res.destroy() },
  {
    name: 'a reset within the head',
    expected: 'error',
    script: (_q, res) => {
      rawly(res, 'HTTP/1.1 200 OK\r\nContent-Ty');
      setTimeout(() => reset(res), 10);
    },
  },
  {
    name: 'a reset within a JSON body',
    expected: 'error',
    script: (request, res) => {
      res.writeHead(200, { 'content-type': 'application/json' });
      res.write(good(request).slice(0, 20));
      setTimeout(() => reset(res), 10);
    },
  },
  {
    name: 'a reset within an event',
    expected: 'error',
    script: (request, res) => {
      openStream(res).raw(`data: ${good(request).slice(0, 20)}`);
      setTimeout(() => reset(res), 10);
    },
  },
  {
    name: 'a reset behind a notification',
    expected: 'error',
    script: (_q, res) => {
      openStream(res).send(
        '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":1}}',
      );
      setTimeout(() => reset(res), 10);
    },
  },
  {
    name: 'a reset behind the response',
    expected: 'result',
    script: (request, res) => {
      openStream(res).send(good(request));
      setTimeout(() => reset(res), 10);
    },
  },
];

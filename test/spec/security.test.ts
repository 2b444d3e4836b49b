/** Attacks on the gateway, and through it on upstreams and other clients. */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ConfigError, createGateway } from '../../src/gateway.js';
import { CELLS, ERAS, startScript } from '../peers/cells.js';
import { type RunningGateway, startGateway } from '../peers/gateway.js';
import { sendRaw } from '../peers/raw-client.js';
import {
  type Script,
  type ScriptedServer,
  answer,
  answerResult,
  openStream,
  progressFor,
  resultText,
  scriptedTool,
} from '../peers/scripted-server.js';
import {
  type Era,
  KEY,
  POST_HEADERS,
  modernHeaders,
  modernText,
  openWireClient,
  openWireSession,
  postModern,
  requestText,
} from '../peers/wire-client.js';
import { RawConnection } from '../unit/http/raw-connection.js';

const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of closing.splice(0).reverse()) await each.close();
});

const fine: Script = (request, res) => answerResult(res, request, { resultType: 'complete', content: [] });

async function setUp(
  era: Era,
  calls: Script = fine,
  overrides: Record<string, unknown> = {},
  upstreamConfig: Record<string, unknown> = {},
): Promise<{ upstream: ScriptedServer; gateway: RunningGateway }> {
  const upstream = await startScript(era, calls, { tools: [scriptedTool('any')] });
  closing.push(upstream);
  const gateway = await startGateway(upstream.url, overrides, { era, ...upstreamConfig });
  closing.push(gateway);
  return { upstream, gateway };
}

const NASTY_NAMES = [
  'a\r\nX-Evil: 1',
  'a\nb',
  '\u00e9\u4e2d',
  ' lead',
  '\0',
  '=?base64?QQ==?=',
  'x'.repeat(5000),
];

describe.each(CELLS)('header injection, $cell', ({ client, upstream: era }) => {
  it.each(NASTY_NAMES)('carries the name %j in the body and at most encoded in a header', async (name) => {
    const { upstream, gateway } = await setUp(era);
    const wire = await openWireClient(client, gateway.url);
    await wire.call('tools/call', { name, arguments: {} });
    await wire.call('resources/read', { uri: name });
    const seen = upstream.requestsFor('tools/call').concat(upstream.requestsFor('resources/read'));
    expect(seen.map(({ message }) => message.params.name ?? message.params.uri)).toEqual([name, name]);
    for (const { headers } of seen) {
      expect(headers['x-evil']).toBeUndefined();
      for (const value of Object.values(headers)) expect(String(value)).toMatch(/^[\t\x20-\x7e]*$/);
    }
  });
});

describe('sessions belong to one principal', () => {
  it('gives a stolen session id the answer of an unknown one, for POST, GET and DELETE', async () => {
    const { gateway } = await setUp('legacy');
    const session = await openWireSession(gateway.url, { headers: { authorization: 'Bearer owner' } });
    const probe = async (id: string, authorization?: string): Promise<string[]> => {
      const headers = {
        ...POST_HEADERS,
        'mcp-session-id': id,
        ...(authorization !== undefined && { authorization }),
      };
      const post = await sendRaw(gateway.url, { headers, body: requestText(1, 'tools/list') });
      const get = await sendRaw(gateway.url, { method: 'GET', headers });
      const end = await sendRaw(gateway.url, { method: 'DELETE', headers });
      return [post, get, end].map((response) => String(response.status));
    };
    const unknown = await probe('no-such-session', 'Bearer thief');
    expect(unknown).toEqual(['404', '404', '404']);
    expect(await probe(session.id, 'Bearer thief')).toEqual(unknown);
    expect(await probe(session.id)).toEqual(unknown);
    expect((await session.call('tools/list')).status).toBe(200);
  });

  it('mints an id of its own whatever id `initialize` names', async () => {
    const { gateway } = await setUp('legacy');
    const session = await openWireSession(gateway.url, {
      headers: { 'mcp-session-id': 'fixed-by-an-attacker' },
    });
    expect(session.id).not.toBe('fixed-by-an-attacker');
    expect(Buffer.from(session.id, 'base64url').length).toBeGreaterThanOrEqual(16);
  });

  it('keeps two principals apart at a legacy upstream', async () => {
    const { upstream, gateway } = await setUp('legacy');
    for (const token of ['one', 'two']) {
      const wire = await openWireClient('modern', gateway.url, {
        headers: { authorization: `Bearer ${token}` },
      });
      await wire.call('tools/call', { name: 'any' });
    }
    const seen = upstream.requestsFor('tools/call').map(({ headers }) => headers);
    expect(seen.map((headers) => headers.authorization)).toEqual(['Bearer one', 'Bearer two']);
    expect(seen[0]!['mcp-session-id']).not.toBe(seen[1]!['mcp-session-id']);
  });
});

describe.each(CELLS)('headers are allow-lists, $cell', ({ client, upstream: era }) => {
  it('forwards nothing of the client that is not its to say', async () => {
    const { upstream, gateway } = await setUp(era);
    const wire = await openWireClient(client, gateway.url);
    const session = client === 'legacy' ? {} : { 'mcp-session-id': 'mine', 'last-event-id': 'mine' };
    await wire.call(
      'tools/call',
      { name: 'any' },
      {
        headers: {
          cookie: 'secret=1',
          'x-forwarded-for': '1.2.3.4',
          'x-forwarded-host': 'evil.example',
          forwarded: 'for=1.2.3.4',
          'proxy-authorization': 'Basic x',
          'x-api-key': 'k',
          origin: 'http://localhost',
          referer: 'http://localhost/',
          'mcp-unknown': 'x',
          ...session,
        },
      },
    );
    const { headers } = upstream.requestsFor('tools/call')[0]!;
    const allowed = new Set([
      ...['host', 'connection', 'content-length', 'content-type', 'accept', 'mcp-protocol-version'],
      ...(era === 'modern' ? ['mcp-method', 'mcp-name'] : ['mcp-session-id']),
    ]);
    expect(Object.keys(headers).filter((name) => !allowed.has(name))).toEqual([]);
    expect(headers.host).toBe(new URL(upstream.url).host);
    expect(JSON.stringify(headers)).not.toMatch(/mine|secret|evil/);
  });

  it('hands nothing of the upstream down that is not the client\u2019s', async () => {
    const extra = {
      'set-cookie': 'a=b',
      'access-control-allow-origin': '*',
      'access-control-allow-credentials': 'true',
      'mcp-session-id': 'upstream-secret',
      'x-powered-by': 'x',
      server: 'x',
      'cache-control': 'public, max-age=99999',
    };
    const { gateway } = await setUp(era, (request, res) =>
      answerResult(res, request, { resultType: 'complete', content: [] }, extra),
    );
    const wire = await openWireClient(client, gateway.url);
    const { headers } = await wire.call('tools/call', { name: 'any' });
    const own = ['cache-control', 'connection', 'content-length', 'content-type', 'date'];
    expect(Object.keys(headers).sort()).toEqual(own);
    expect(headers['cache-control']).toBe('no-store');
  });
});

describe('computed headers win', () => {
  it('refuses a modern request whose headers say something else than its body', async () => {
    const { upstream, gateway } = await setUp('modern');
    const body = modernText(1, 'tools/call', { name: 'any', arguments: {} });
    for (const lie of [
      { 'mcp-method': 'tools/list' },
      { 'mcp-name': 'other' },
      { 'mcp-name': '=?base64?b3RoZXI=?=' },
      { 'mcp-protocol-version': '2025-11-25' },
    ]) {
      const response = await postModern(gateway.url, body, lie);
      expect(response.status).toBe(400);
      expect((await response.rpc()).error.code).toBe(-32020);
    }
    expect(upstream.requestsFor('tools/call')).toEqual([]);
  });

  it('computes them anew for a legacy client that sends its own', async () => {
    const { upstream, gateway } = await setUp('modern');
    const wire = await openWireClient('legacy', gateway.url);
    const lies = { 'mcp-method': 'tools/list', 'mcp-name': 'other', 'mcp-param-x': 'y' };
    await wire.call('tools/call', { name: 'any' }, { headers: lies });
    const { headers } = upstream.requestsFor('tools/call')[0]!;
    expect([headers['mcp-method'], headers['mcp-name']]).toEqual(['tools/call', 'any']);
    expect(headers['mcp-param-x']).toBeUndefined();
  });
});

describe.each(ERAS)('request smuggling, %s client', (client) => {
  const twice = (member: string): string =>
    client === 'modern'
      ? modernText(1, 'tools/call', { name: 'any' }).replace('"jsonrpc"', `${member},"jsonrpc"`)
      : requestText(1, 'tools/call', { name: 'any' }).replace('"jsonrpc"', `${member},"jsonrpc"`);

  it.each(['"method":"tools/list"', '"id":2', '"params":{}', '"jsonrpc":"2.0"', '"\\u006dethod":"x"'])(
    'refuses a message that has %s besides',
    async (member) => {
      const { upstream, gateway } = await setUp('modern');
      const body = twice(member);
      const headers =
        client === 'modern'
          ? { ...modernHeaders(modernText(1, 'tools/call', { name: 'any' })) }
          : { ...POST_HEADERS, ...(await openWireSession(gateway.url)).headers };
      const response = await sendRaw(gateway.url, { headers, body });
      expect(response.status).toBe(400);
      expect((await response.rpc()).error.code).toBe(-32600);
      expect(upstream.requestsFor('tools/call')).toEqual([]);
    },
  );

  it('refuses a `params` whose name stands in it twice', async () => {
    const { upstream, gateway } = await setUp('modern');
    const text = modernText(1, 'tools/call', { name: 'any' });
    const headers =
      client === 'modern'
        ? modernHeaders(text)
        : { ...POST_HEADERS, ...(await openWireSession(gateway.url)).headers };
    const body = (client === 'modern' ? text : requestText(1, 'tools/call', { name: 'any' })).replace(
      '"name":"any"',
      '"name":"other","name":"any"',
    );
    expect((await sendRaw(gateway.url, { headers, body })).status).toBe(400);
    expect(upstream.requestsFor('tools/call')).toEqual([]);
  });
});

describe.each(ERAS)('redirects of a %s upstream', (era) => {
  it('are not followed elsewhere, and never with the credential', async () => {
    const seen: unknown[] = [];
    const thief = createServer((req, res) => {
      seen.push(req.headers);
      res.end();
    });
    await new Promise<void>((resolve) => thief.listen(0, '127.0.0.1', resolve));
    closing.push({ close: () => new Promise((resolve) => thief.close(() => resolve())) });
    const location = `http://127.0.0.1:${(thief.address() as AddressInfo).port}/mcp`;
    for (const status of [301, 302, 303, 307, 308]) {
      const { gateway } = await setUp(era, (_request, res) => answer(res, status, '', { location }));
      const wire = await openWireClient('modern', gateway.url, {
        headers: { authorization: 'Bearer s3cret' },
      });
      const { message } = await wire.call('tools/call', { name: 'any' });
      expect(message.error.code).toBe(-31005);
    }
    expect(seen).toEqual([]);
  });
});

describe('caps', () => {
  it('answers 429 for one principal, 503 for all, with Retry-After', async () => {
    const limits = { concurrentRequests: 3, concurrentPerPrincipal: 2 };
    const waiting: (() => void)[] = [];
    const { gateway } = await setUp(
      'modern',
      (request, res) => void waiting.push(() => answerResult(res, request, { content: [] })),
      { limits },
    );
    const body = modernText(1, 'tools/call', { name: 'any' });
    const call = (token: string): Promise<Awaited<ReturnType<typeof postModern>>> =>
      postModern(gateway.url, body, { authorization: `Bearer ${token}` });
    const running = async (count: number): Promise<void> => {
      while (waiting.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
    };
    const held = [call('a'), call('a')];
    await running(2);
    const refused = [await call('a')];
    held.push(call('b'));
    await running(3);
    refused.push(await call('b'));
    expect(refused.map(({ status }) => status)).toEqual([429, 503]);
    for (const { headers } of refused) expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    for (const go of waiting) go();
    for (const response of await Promise.all(held)) expect(response.status).toBe(200);
  });
});

describe('slow and compressed requests', () => {
  it('ends a connection whose headers do not come', async () => {
    const { gateway } = await setUp('modern', fine, { timeouts: { bodyMs: 200 } });
    const connection = await RawConnection.open(gateway.port);
    connection.send('POST /mcp HTTP/1.1\r\nHost: localhost\r\n');
    const drip = setInterval(() => connection.send('X: y\r\n'), 500);
    try {
      expect(await connection.all()).toMatch(/^HTTP\/1.1 408 /);
    } finally {
      clearInterval(drip);
    }
  });

  it('answers 408 to a body that drips', async () => {
    const { gateway } = await setUp('modern', fine, { timeouts: { bodyMs: 200 } });
    const connection = await RawConnection.open(gateway.port);
    const head = Object.entries({ ...POST_HEADERS, host: 'localhost', 'content-length': '1000' });
    connection.send(`POST /mcp HTTP/1.1\r\n${head.map(([k, v]) => `${k}: ${v}`).join('\r\n')}\r\n\r\n`);
    const drip = setInterval(() => connection.send(' '), 20);
    try {
      expect(await connection.all()).toMatch(/^HTTP\/1.1 408 /);
    } finally {
      clearInterval(drip);
    }
  });

  it.each(['gzip', 'deflate', 'br', 'gzip, identity'])('refuses a body in %s', async (coding) => {
    const { gateway } = await setUp('modern');
    const headers = { ...POST_HEADERS, 'content-encoding': coding };
    expect((await sendRaw(gateway.url, { headers, body: randomBytes(20) })).status).toBe(415);
  });
});

describe.each(CELLS)('names of prototypes, $cell', ({ client, upstream: era }) => {
  it('are carried as data and change nothing', async () => {
    const { upstream, gateway } = await setUp(era);
    const wire = await openWireClient(client, gateway.url, {
      capabilities: JSON.parse('{"__proto__":{"sampling":{}}}'),
    });
    const evil = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
    const params = { name: '__proto__', arguments: evil, __proto__x: 1 };
    const { status } = await wire.call('tools/call', params, { meta: evil });
    expect(status).toBe(200);
    expect(({} as any).polluted).toBeUndefined();
    const { body } = upstream.requestsFor('tools/call')[0]!;
    expect(body).toContain(
      '"arguments":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
    );
    for (const method of ['__proto__', 'constructor', 'toString']) {
      expect((await wire.call(method, evil)).status).toBeLessThan(500);
    }
    const responses = { inputResponses: JSON.parse('{"__proto__":{"action":"accept"}}') };
    expect((await wire.call('tools/call', { name: 'any', ...responses })).status).toBeLessThan(500);
  });
});

describe('handles and event ids cannot be guessed', () => {
  const asking: Script = (request, res) => {
    const stream = openStream(res);
    const params = { message: 'Name?', requestedSchema: { type: 'object', properties: {} } };
    stream.send({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params });
  };

  it('a `requestState` of another principal, changed or made up, runs nothing and is not used up by it', async () => {
    const { upstream, gateway } = await setUp('legacy', asking, {}, {});
    const client = { [KEY.clientCapabilities]: { elicitation: {} } };
    const owner = { authorization: 'Bearer owner' };
    const call = (
      params: Record<string, unknown>,
      headers: Record<string, string>,
    ): ReturnType<typeof postModern> =>
      postModern(gateway.url, modernText(1, 'tools/call', { name: 'any', ...params }, client), headers);
    const asked = (await (await call({}, owner)).rpc()).result;
    expect(asked.resultType).toBe('input_required');
    const state: string = asked.requestState;
    const [key] = Object.keys(asked.inputRequests);
    const inputResponses = { [key!]: { action: 'decline' } };
    // Instance, and 160 random bits.
    expect(Buffer.from(state.split('.').at(-1)!, 'base64url').length).toBeGreaterThanOrEqual(20);
    const last = state.at(-1) === 'A' ? 'B' : 'A';
    const wrong: [string, Record<string, string>][] = [
      [state, { authorization: 'Bearer thief' }],
      [state, {}],
      [state.slice(0, -1) + last, owner],
      [state.slice(0, -4), owner],
      [`${state.split('.').slice(0, -1).join('.')}.${randomBytes(20).toString('base64url')}`, owner],
      ['gangway.x.y', owner],
    ];
    for (const [requestState, headers] of wrong) {
      const response = await call({ requestState, inputResponses }, headers);
      expect(response.status).toBe(400);
      expect((await response.rpc()).error.code).toBe(-32602);
    }
    expect(upstream.requestsFor('tools/call')).toHaveLength(1);
    expect(upstream.requests.some(({ message }) => message?.result !== undefined)).toBe(false);
  });

  it('an event id of another session, or one made up, replays nothing', async () => {
    const { gateway } = await setUp('legacy', (request, res) => {
      const stream = openStream(res);
      stream.send(progressFor(request, 1));
      stream.send(resultText(request, { content: [{ type: 'text', text: 'private' }] }));
      stream.end();
    });
    const victim = await openWireSession(gateway.url, { headers: { authorization: 'Bearer victim' } });
    const response = await victim.request(1, 'tools/call', { name: 'any', _meta: { progressToken: 1 } });
    await response.ended;
    const ids = response.blocks.flatMap(({ id }) => (id === undefined ? [] : [id]));
    expect(ids.length).toBeGreaterThan(0);
    const thief = await openWireSession(gateway.url, { headers: { authorization: 'Bearer thief' } });
    const next = ids.map((id) => id.replace(/\.[0-9a-z]+$/, '.0'));
    for (const id of [...ids, ...next, '1', '0.0.0.0', '../1', '%00']) {
      const stolen = await thief.get(id);
      expect(stolen.status).toBe(400);
      expect(await stolen.text()).not.toContain('private');
    }
  });
});

describe('a credential of the gateway\u2019s own', () => {
  const upstreams = {
    default: { url: 'http://127.0.0.1:9/mcp', authorization: { mode: 'static', header: 'Bearer own' } },
  };

  it('is not lent beyond loopback', async () => {
    for (const host of ['0.0.0.0', '::', '192.0.2.1']) {
      await expect(createGateway({ listen: { host, port: 0 }, upstreams } as never)).rejects.toThrow(
        ConfigError,
      );
    }
  });

  it('replaces the client\u2019s, which goes nowhere', async () => {
    const { upstream, gateway } = await setUp(
      'modern',
      fine,
      {},
      { authorization: { mode: 'static', header: 'Bearer own' } },
    );
    const wire = await openWireClient('modern', gateway.url, { headers: { authorization: 'Bearer client' } });
    await wire.call('tools/call', { name: 'any' });
    for (const { headers } of upstream.requests) expect(headers.authorization).toBe('Bearer own');
  });
});

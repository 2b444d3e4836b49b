import { describe, expect, it } from 'vitest';
import { GATEWAY_CODE } from '../../../src/errors/gateway-error.js';
import { readHeaders } from '../../../src/http/headers.js';
import { POST_HEADERS, RawConnection, requestText } from './raw-connection.js';
import { ask, startApp, type StartedApp } from './started-app.js';

async function rawStatus(app: StartedApp, headers: string[]): Promise<string> {
  const raw = await RawConnection.open(app.port);
  const all = await raw
    .send(requestText('POST', '/mcp', [...POST_HEADERS, ...headers, 'Connection: close'], '{}'))
    .all();
  return all;
}

describe('limits on headers', () => {
  it('refuses too many with 431', async () => {
    const app = await startApp({ limits: { headerCount: 20 } });
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`x-${index}`, '1']));
    const { status, json } = await ask(app, 'POST', '/mcp', { headers: many });
    expect([status, json.error.code]).toEqual([431, GATEWAY_CODE.refused]);
    expect(json.error.message).toContain('headerCount');
  });

  it('counts them all, also beyond the 2000 that node hands over by itself', async () => {
    const app = await startApp({ limits: { headerBytes: 65_536, headerCount: 2_000 } });
    const many = Array.from({ length: 2_500 }, (_, index) => `x${index}: 1`);
    expect(await rawStatus(app, many)).toMatch(/^HTTP\/1\.1 431 [^]*headerCount/);
  });

  it('refuses too large ones with 431, also beyond what node reads at all', async () => {
    const app = await startApp({ limits: { headerBytes: 2_000 } });
    for (const size of [1_990, 2_500, 20_000, 200_000]) {
      const answer = await rawStatus(app, [`X-Big: ${'a'.repeat(size)}`]);
      expect(answer).toMatch(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n[^]*headerBytes/);
    }
    expect(await rawStatus(app, [`X-Big: ${'a'.repeat(1_500)}`])).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('takes as much as the limit says, beyond the default of node', async () => {
    const app = await startApp({ limits: { headerBytes: 65_536 } });
    expect(await rawStatus(app, [`X-Big: ${'a'.repeat(60_000)}`])).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('headers that name one thing', () => {
  const names = [
    'Mcp-Session-Id',
    'MCP-Protocol-Version',
    'Last-Event-ID',
    'Mcp-Method',
    'Mcp-Name',
    'Authorization',
  ];

  it('are refused when they are sent with two values', async () => {
    const app = await startApp();
    for (const name of names) {
      const answer = await rawStatus(app, [`${name}: a`, `${name.toLowerCase()}: b`]);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer.toLowerCase()).toContain(`the ${name.toLowerCase()} header was sent more than once`);
    }
    expect(app.calls).toHaveLength(0);
  });

  it('are taken once when all values are equal', async () => {
    const app = await startApp();
    for (const name of names) {
      expect(await rawStatus(app, [`${name}: a`, `${name.toUpperCase()}: a`])).toMatch(/^HTTP\/1\.1 200 /);
      expect(app.calls.at(-1)?.request.headers[name.toLowerCase()]).toBe('a');
    }
  });

  it('are refused with bytes beyond ASCII', async () => {
    const app = await startApp();
    for (const name of names) {
      expect(await rawStatus(app, [`${name}: caf\u00e9`])).toMatch(/^HTTP\/1\.1 400 [^]*beyond ASCII/);
    }
  });

  it('leave others alone: repeated ones are joined', async () => {
    const app = await startApp();
    expect(await rawStatus(app, ['X-A: 1', 'x-a: 2', 'X-B: \u00e9'])).toMatch(/^HTTP\/1\.1 200 /);
    expect(app.calls.at(-1)?.request.headers['x-a']).toBe('1, 2');
  });
});

describe('readHeaders', () => {
  it('is not confused by names that objects have', () => {
    const limits = { headerBytes: 1_000, headerCount: 10 };
    const { fields } = readHeaders(['__proto__', 'x', 'constructor', 'y', 'Host', 'h'], limits);
    expect(fields['__proto__']).toBe('x');
    expect(fields['constructor']).toBe('y');
    expect(fields['tostring']).toBeUndefined();
    expect(Object.getPrototypeOf(fields)).toBeNull();
  });
});

describe('Accept', () => {
  async function statuses(method: string, accepts: (string | undefined)[]): Promise<Record<string, number>> {
    const app = await startApp({
      serve: async (_upstream, request, reply) => {
        if (request.method === 'GET') reply.stream().end();
        else reply.json(200, '{}');
      },
    });
    const result: Record<string, number> = {};
    for (const accept of accepts) {
      const raw = await RawConnection.open(app.port);
      const headers = ['Content-Type: application/json', 'Connection: close'];
      if (accept !== undefined) headers.push(`Accept: ${accept}`);
      const answer = await raw
        .send(requestText(method, '/mcp', headers, method === 'POST' ? '{}' : ''))
        .all();
      result[accept ?? 'none'] = Number(answer.slice(9, 12));
    }
    return result;
  }

  it('of a POST covers JSON and streams, else 406', async () => {
    const accepted = [
      undefined,
      'application/json, text/event-stream',
      'TEXT/event-stream;q=0.5,application/JSON;q=0.9',
      '*/*',
      'application/*, text/*',
      'text/html, */*;q=0.8',
    ];
    const refused = [
      '',
      'application/json',
      'text/event-stream',
      'text/html',
      'application/json, text/event-stream;q=0',
      'application/json, text/event-stream; q=0.00',
      'application/jsonp, text/event-stream',
      'application/*',
    ];
    const result = await statuses('POST', [...accepted, ...refused]);
    for (const accept of accepted) expect([accept, result[accept ?? 'none']]).toEqual([accept, 200]);
    for (const accept of refused) expect([accept, result[accept]]).toEqual([accept, 406]);
  });

  it('of a GET covers streams, else 406', async () => {
    expect(
      await statuses('GET', ['text/event-stream', '*/*', 'text/*', 'application/json', 'text/html']),
    ).toEqual({
      'text/event-stream': 200,
      '*/*': 200,
      'text/*': 200,
      'application/json': 406,
      'text/html': 406,
    });
  });

  it('of a DELETE does not matter', async () => {
    expect((await ask(await startApp(), 'DELETE', '/mcp', { headers: { accept: 'text/html' } })).status).toBe(
      204,
    );
  });
});

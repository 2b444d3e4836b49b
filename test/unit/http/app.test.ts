import { describe, expect, it } from 'vitest';
import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import { RawConnection, requestText } from './raw-connection.js';
import { ask, startApp } from './started-app.js';

describe('routes', () => {
  it('serves every configured path with its upstream', async () => {
    const app = await startApp({ aliases: { '/legacy': 'beta', '/a(b)/:c': 'alpha', '/Trailing/': 'beta' } });
    const cases: [path: string, upstream: string][] = [
      ['/mcp', 'alpha'],
      ['/mcp/', 'alpha'],
      ['/mcp?x=1', 'alpha'],
      ['/mcp/alpha', 'alpha'],
      ['/mcp/beta', 'beta'],
      ['/mcp/BETA/', 'beta'],
      ['/legacy', 'beta'],
      ['/a(b)/:c', 'alpha'],
      ['/trailing', 'beta'],
    ];
    for (const [path, upstream] of cases) {
      const answer = await ask(app, 'POST', path);
      expect([path, answer.status, app.calls.at(-1)?.upstream]).toEqual([path, 200, upstream]);
    }
  });

  it('passes on method, headers, address and body', async () => {
    const app = await startApp();
    await ask(app, 'POST', '/mcp', { headers: { 'X-One': 'a', cookie: ['b=1', 'c=2'] }, body: '{"a":1}' });
    await ask(app, 'DELETE');
    const [post, del] = app.calls.map((call) => call.request);
    expect(post).toMatchObject({ method: 'POST', remoteAddress: '127.0.0.1', body: '{"a":1}' });
    expect(post?.headers['x-one']).toBe('a');
    expect(post?.headers['constructor']).toBeUndefined();
    expect(del).toMatchObject({ method: 'DELETE', body: '' });
  });

  it('answers an unknown path with 404 and the endpoints there are', async () => {
    const app = await startApp();
    for (const path of ['/', '/nope', '/mcp/alpha/more', '/mcpx', '//mcp', '/%E0%A4%A']) {
      const { status, json } = await ask(app, 'POST', path);
      expect([path, status, json.error.code, 'id' in json]).toEqual([path, 404, GATEWAY_CODE.refused, false]);
      expect(json.error.message).toContain('/mcp, /legacy, /mcp/alpha, /mcp/beta');
    }
  });

  it('answers an unknown upstream with 404 and its name', async () => {
    const app = await startApp();
    const { status, json } = await ask(app, 'POST', '/mcp/gam%22ma');
    expect(status).toBe(404);
    expect(json.error.message).toContain('no upstream named "gam\\"ma"');
    expect((await ask(app, 'POST', '/mcp/__proto__')).status).toBe(404);
    expect((await ask(app, 'POST', '/mcp/%E0%A4%A')).status).toBe(404);
    expect(app.calls).toHaveLength(0);
  });

  it('keeps /mcp for the default upstream, whatever the others are called', async () => {
    const app = await startApp({
      upstreamNames: ['alpha', 'mcp'],
      aliases: { '/alpha': 'alpha', '/mcp': 'mcp' },
    });
    for (const path of ['/mcp', '/mcp/mcp', '/alpha']) await ask(app, 'POST', path);
    expect(app.calls.map(({ upstream }) => upstream)).toEqual(['alpha', 'mcp', 'alpha']);
  });

  it('has no /mcp without a default upstream', async () => {
    const app = await startApp({ defaultUpstream: undefined });
    expect((await ask(app, 'POST', '/mcp')).status).toBe(404);
    expect((await ask(app, 'POST', '/mcp/alpha')).status).toBe(200);
  });

  it('refuses other methods with 405 and Allow', async () => {
    const app = await startApp();
    for (const method of ['PUT', 'PATCH', 'HEAD', 'OPTIONS', 'PROPFIND', 'TRACE']) {
      const { status, headers } = await ask(app, method);
      expect([method, status, headers.allow]).toEqual([method, 405, 'POST, GET, DELETE']);
    }
    expect(app.calls).toHaveLength(0);
  });
});

describe('what the core throws', () => {
  it('answers a GatewayError with its status, code, data and headers', async () => {
    const app = await startApp({
      serve: async () => {
        throw new GatewayError(-31_000, 'no "connection"', {
          status: 502,
          data: '{"n":1e400}',
          headers: { 'Retry-After': '3', 'WWW-Authenticate': ['A', 'B'] },
        });
      },
    });
    const { status, text, headers } = await ask(app, 'POST');
    expect(status).toBe(502);
    expect(text).toBe(
      '{"jsonrpc":"2.0","error":{"code":-31000,"message":"no \\"connection\\"","data":{"n":1e400}}}',
    );
    expect(headers).toMatchObject({ 'retry-after': '3', 'www-authenticate': 'A, B' });
    expect(headers['cache-control']).toBe('no-store');
  });

  it('answers anything else with 500 and tells the details to the log only', async () => {
    const app = await startApp({
      serve: async () => {
        throw new TypeError('secret detail');
      },
    });
    const { status, text } = await ask(app, 'POST');
    expect([status, text]).toEqual([
      500,
      '{"jsonrpc":"2.0","error":{"code":-32603,"message":"internal error"}}',
    ]);
    expect(app.logged.join()).toContain('secret detail');
  });

  it('answers 500 when nothing was answered', async () => {
    const app = await startApp({ serve: async () => undefined });
    expect((await ask(app, 'POST')).status).toBe(500);
    expect((await ask(app, 'GET')).status).toBe(500);
    expect((await ask(app, 'DELETE')).status).toBe(500);
  });

  it('cuts a stream that fails', async () => {
    const app = await startApp({
      serve: async (_upstream, _request, reply) => {
        reply.stream().send('data: 1\n\n');
        throw new Error('late');
      },
    });
    const raw = await RawConnection.open(app.port);
    const text = await raw.send(requestText('GET', '/mcp', [])).all();
    // The final chunk would tell the client that this was all.
    expect(text).not.toMatch(/0\r\n\r\n$/);
    expect(app.app.openStreams).toBe(0);
    expect(app.logged.join()).toContain('late');
  });

  it('leaves a complete answer alone when the core fails afterwards', async () => {
    const app = await startApp({
      serve: async (_upstream, _request, reply) => {
        reply.json(200, '{}');
        throw new Error('late');
      },
    });
    const { status, text } = await ask(app, 'POST');
    expect([status, text]).toEqual([200, '{}']);
    expect(app.logged.join()).toContain('late');
  });

  it('still answers when the headers of an error cannot be sent', async () => {
    const app = await startApp({
      serve: async () => {
        throw new GatewayError(-31_005, 'refused', {
          status: 401,
          headers: { 'WWW-Authenticate': 'a\r\nb' },
        });
      },
    });
    const { status, json, headers } = await ask(app, 'POST');
    expect([status, json.error.code, headers['www-authenticate']]).toEqual([401, -31_005, undefined]);
  });
});

describe('protected resource metadata', () => {
  const root = '/.well-known/oauth-protected-resource';

  it('is asked of the upstream whose path follows', async () => {
    const asked: string[] = [];
    const app = await startApp({
      protectedResource: async (upstream) => {
        asked.push(upstream);
        return { status: 200, body: '{"resource":"x"}', headers: { 'X-A': '1' } };
      },
    });
    const paths = ['', '/', '/mcp', '/mcp/', '/mcp/alpha', '/mcp/Beta', '/legacy'];
    for (const path of paths) {
      const { status, headers, text } = await ask(app, 'GET', root + path);
      expect([path, status, text]).toEqual([path, 200, '{"resource":"x"}']);
      expect(headers).toMatchObject({ 'content-type': 'application/json', 'x-a': '1' });
    }
    expect(asked).toEqual(['alpha', 'alpha', 'alpha', 'alpha', 'alpha', 'beta', 'beta']);
    expect((await ask(app, 'GET', `${root}/mcp/gamma`)).status).toBe(404);
    expect((await ask(app, 'GET', `${root}/other/deep/path`)).status).toBe(404);
    expect((await ask(app, 'GET', '/.well-known/oauth-authorization-server')).status).toBe(404);
    expect((await ask(app, 'POST', root)).status).toBe(405);
  });

  it('is 404 when there is none, and the status of its error when it fails', async () => {
    expect((await ask(await startApp(), 'GET', root)).status).toBe(404);
    const failing = await startApp({
      protectedResource: async () => {
        throw new GatewayError(GATEWAY_CODE.upstreamUnreachable, 'no', { status: 502 });
      },
    });
    expect((await ask(failing, 'GET', root)).status).toBe(502);
  });
});

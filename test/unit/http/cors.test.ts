import { describe, expect, it } from 'vitest';
import { ask, startApp } from './started-app.js';

const ORIGIN = 'https://app.example';

function preflight(asked: string, origin = ORIGIN) {
  return {
    headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': asked },
  };
}

describe('CORS', () => {
  it('answers the preflight of an allowed origin', async () => {
    const app = await startApp({ allowedOrigins: [ORIGIN] });
    const asked = 'content-type,mcp-param-region, Mcp-Param-X,mcp-session-id,x-evil,mcp-bad name,mcp-(';
    const { status, headers, text } = await ask(app, 'OPTIONS', '/mcp', preflight(asked));
    expect([status, text]).toEqual([204, '']);
    expect(headers).toMatchObject({
      'access-control-allow-origin': ORIGIN,
      'access-control-allow-methods': 'POST, GET, DELETE',
      'access-control-allow-headers':
        'Content-Type, Accept, Authorization, Mcp-Method, Mcp-Name, MCP-Protocol-Version, Mcp-Session-Id, ' +
        'Last-Event-ID, mcp-param-region, mcp-param-x',
      vary: 'Origin',
    });
    expect(headers['access-control-allow-credentials']).toBeUndefined();
    expect(headers['content-type']).toBeUndefined();
    expect(app.calls).toHaveLength(0);
  });

  it('refuses the preflight of a foreign origin', async () => {
    const app = await startApp({ allowedOrigins: [ORIGIN] });
    for (const origin of ['https://evil.example', 'null']) {
      const { status, headers } = await ask(app, 'OPTIONS', '/mcp', preflight('content-type', origin));
      expect([status, headers['access-control-allow-origin']]).toEqual([403, undefined]);
    }
  });

  it('lets an allowed page read answers, errors and streams', async () => {
    const app = await startApp({
      allowedOrigins: [ORIGIN],
      serve: async (_upstream, request, reply) => {
        if (request.method === 'GET') reply.stream().end();
        else reply.json(200, '{}', { 'Mcp-Session-Id': 's', 'access-control-allow-origin': '*' });
      },
    });
    const headers = { origin: ORIGIN };
    const answers = [
      await ask(app, 'POST', '/mcp', { headers }),
      await ask(app, 'GET', '/mcp', { headers }),
      await ask(app, 'PUT', '/mcp', { headers }),
      await ask(app, 'POST', '/nope', { headers }),
      await ask(app, 'POST', '/mcp', { headers: { ...headers, 'content-type': 'text/plain' } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 405, 404, 415]);
    for (const answer of answers) {
      expect(answer.headers).toMatchObject({
        'access-control-allow-origin': ORIGIN,
        'access-control-expose-headers': 'Mcp-Session-Id, WWW-Authenticate',
        vary: 'Origin',
      });
    }
  });

  it('sends no CORS header without Origin, whatever the core sets', async () => {
    const app = await startApp({
      serve: async (_upstream, _request, reply) => {
        reply.json(200, '{}', {
          'Access-Control-Allow-Origin': '*',
          'ACCESS-CONTROL-ALLOW-CREDENTIALS': 'true',
        });
      },
    });
    const { headers } = await ask(app, 'POST');
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});

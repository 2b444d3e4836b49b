import { describe, expect, test } from 'vitest';
import { CELLS, ERAS, startScript } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { sendRaw } from '../peers/raw-client.js';
import {
  type Script,
  answer,
  answerResult,
  legacyScript,
  startScriptedServer,
} from '../peers/scripted-server.js';
import {
  POST_HEADERS,
  callModern,
  initializeText,
  modernText,
  openWireClient,
  postModern,
} from '../peers/wire-client.js';

const METADATA = '/.well-known/oauth-protected-resource';

const served: Script = (request, res) => answerResult(res, request, { resultType: 'complete', content: [] });

/** The authorizations an upstream saw with a method. */
const credentials = (upstream: { requests: { headers: { authorization?: string | undefined } }[] }) =>
  new Set(upstream.requests.map(({ headers }) => headers.authorization));

describe.each(CELLS)('X30 transparent authorization, $cell', (cell) => {
  test('X30 the credential of each client goes to the upstream, as it is, and to nobody else', async () => {
    const upstream = closing(await startScript(cell.upstream, served, { tools: [] }));
    const gateway = closing(await startGateway(upstream.url));
    for (const authorization of ['Bearer a', 'Basic YTpi']) {
      upstream.requests.length = 0;
      const client = await openWireClient(cell.client, gateway.url, { headers: { authorization } });
      expect((await client.call('tools/call', { name: 't' })).status).toBe(200);
      // The probe of the era and the description are made with it too: the upstream may refuse others.
      expect(credentials(upstream)).toEqual(new Set([authorization]));
    }
    upstream.requests.length = 0;
    const anonymous = await openWireClient(cell.client, gateway.url);
    expect((await anonymous.call('tools/call', { name: 't' })).status).toBe(200);
    expect(credentials(upstream)).toEqual(new Set([undefined]));
  });

  test('X30 a credential is never answered from what another was told', async () => {
    const upstream = closing(
      await startScript(
        cell.upstream,
        (request, res) => {
          if (request.headers.authorization === 'Bearer good') return served(request, res);
          answer(res, 401, '', { 'www-authenticate': 'Bearer' });
        },
        { tools: [] },
      ),
    );
    const gateway = closing(await startGateway(upstream.url));
    const good = await openWireClient(cell.client, gateway.url, {
      headers: { authorization: 'Bearer good' },
    });
    expect((await good.call('prompts/list')).status).toBe(200);
    const bad = await openWireClient(cell.client, gateway.url, { headers: { authorization: 'Bearer bad' } });
    const { status, headers } = await bad.call('prompts/list');
    expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer']);
  });
});

/** An upstream that refuses everybody without a credential, whatever is asked. */
async function guarded(challenge = 'Bearer') {
  const inner = legacyScript(served);
  const upstream = closing(
    await startScriptedServer(
      (request, res) => {
        if (request.headers.authorization !== undefined) return inner(request, res);
        answer(res, 401, '', { 'www-authenticate': challenge });
      },
      {
        intercept: ({ path, headers }, res) => {
          if (!path.startsWith(METADATA)) return false;
          if (path !== `${METADATA}/mcp`) answer(res, 404, '', {});
          else {
            answer(res, 200, {
              resource: 'https://upstream.example/mcp',
              authorization_servers: ['https://auth.example'],
              scopes_supported: ['tools'],
              seen: headers.authorization ?? 'nothing',
            });
          }
          return true;
        },
      },
    ),
  );
  return upstream;
}

function knock(era: (typeof ERAS)[number], url: string) {
  if (era === 'legacy') return sendRaw(url, { headers: POST_HEADERS, body: initializeText({ id: 0 }) });
  return postModern(url, modernText(0, 'tools/list'));
}

describe.each(ERAS)('X30 the way a %s client finds to a credential', (era) => {
  test('X30 under the URL of the upstream the challenge passes as it is', async () => {
    const challenge = 'Bearer realm="r", resource_metadata="https://upstream.example/meta", scope="tools"';
    const upstream = await guarded(challenge);
    const gateway = closing(await startGateway(upstream.url));
    const response = await knock(era, gateway.url);
    expect([response.status, response.headers['www-authenticate']]).toEqual([401, challenge]);
    expect(await response.rpc()).toMatchObject({ id: 0, error: { code: expect.any(Number) } });
    expect(response.headers).not.toHaveProperty('mcp-session-id');
  });

  test('X30 under a URL of its own the gateway points at its own metadata, and keeps the rest', async () => {
    const challenge = 'Bearer realm="r", resource_metadata="https://upstream.example/meta", scope="tools"';
    const upstream = await guarded(challenge);
    const gateway = closing(
      await startGateway(upstream.url, {
        publicUrl: 'https://gateway.example/mcp',
        allowedHosts: ['gateway.example'],
      }),
    );
    const response = await knock(era, gateway.url);
    expect(response.status).toBe(401);
    expect(response.headers['www-authenticate']).toBe(
      `Bearer realm="r", resource_metadata="https://gateway.example${METADATA}/mcp", scope="tools"`,
    );
  });

  test('X30 403 and its challenge pass in a call too', async () => {
    const upstream = closing(
      await startScript('modern', (_, res) =>
        answer(res, 403, '', { 'www-authenticate': 'Bearer error="insufficient_scope", scope="more"' }),
      ),
    );
    const gateway = closing(await startGateway(upstream.url));
    const client = await openWireClient(era, gateway.url, { headers: { authorization: 'Bearer a' } });
    const { status, headers } = await client.call('prompts/list');
    expect(status).toBe(403);
    expect(headers['www-authenticate']).toBe('Bearer error="insufficient_scope", scope="more"');
  });
});

describe('X30 protected resource metadata', () => {
  const metadata = (gateway: { port: number }, path: string, headers: Record<string, string> = {}) =>
    sendRaw(`http://127.0.0.1:${gateway.port}${METADATA}${path}`, { method: 'GET', headers });

  test("X30 served as the upstream has it, fetched without anybody's credential", async () => {
    const upstream = await guarded();
    const gateway = closing(await startGateway(upstream.url));
    for (const path of ['', '/mcp', '/mcp/default']) {
      const response = await metadata(gateway, path, { authorization: 'Bearer a' });
      expect(response.status).toBe(200);
      expect(JSON.parse(await response.text())).toEqual({
        resource: 'https://upstream.example/mcp',
        authorization_servers: ['https://auth.example'],
        scopes_supported: ['tools'],
        seen: 'nothing',
      });
    }
  });

  test('X30 under a URL of its own it names that as the resource', async () => {
    const upstream = await guarded();
    const gateway = closing(await startGateway(upstream.url, { publicUrl: 'https://gateway.example/mcp' }));
    const { resource, authorization_servers: servers } = JSON.parse(
      await (await metadata(gateway, '/mcp')).text(),
    );
    expect(resource).toBe('https://gateway.example/mcp');
    expect(servers).toEqual(['https://auth.example']);
  });

  test.each<[string, Script]>([
    ['redirects', (_, res) => answer(res, 302, '', { location: 'https://evil.example/' })],
    ['answers a page', (_, res) => answer(res, 200, '<html>', { 'content-type': 'text/html' })],
    ['answers an array', (_, res) => answer(res, 200, [])],
    ['answers more than anybody needs', (_, res) => answer(res, 200, { a: 'x'.repeat(100_000) })],
    ['has none', (_, res) => answer(res, 404, '', {})],
  ])('X30 an upstream that %s: 404', async (_, respond) => {
    const upstream = closing(
      await startScriptedServer(legacyScript(served), {
        intercept: async (request, res) => {
          if (!request.path.startsWith(METADATA)) return false;
          await respond(request, res);
          return true;
        },
      }),
    );
    const gateway = closing(await startGateway(upstream.url));
    expect((await metadata(gateway, '/mcp')).status).toBe(404);
  });
});

describe.each(CELLS)('X30 a credential of the gateway itself, $cell', (cell) => {
  const authorization = { mode: 'static', header: 'Bearer of-the-gateway' };

  test('X30 the upstream sees that one, and never the one of a client', async () => {
    const upstream = closing(await startScript(cell.upstream, served, { tools: [] }));
    const gateway = closing(await startGateway(upstream.url, {}, { authorization }));
    const headers = { authorization: 'Bearer of-the-client' };
    const client = await openWireClient(cell.client, gateway.url, { headers });
    expect((await client.call('tools/call', { name: 't' })).status).toBe(200);
    expect(credentials(upstream)).toEqual(new Set([authorization.header]));
    expect(upstream.requests.map(({ body }) => body).join()).not.toContain('of-the-client');
  });

  test('X30 a challenge to it is no business of the client: 502', async () => {
    const upstream = closing(
      await startScript(cell.upstream, (_, res) => answer(res, 401, '', { 'www-authenticate': 'Bearer' }), {
        tools: [],
      }),
    );
    const gateway = closing(await startGateway(upstream.url, {}, { authorization }));
    const client = await openWireClient(cell.client, gateway.url);
    const { status, headers, message } = await client.call('prompts/list', {}, { id: 0 });
    expect([status, message.id]).toEqual([502, 0]);
    expect(headers).not.toHaveProperty('www-authenticate');
  });
});

test('X30 cookies, forwarding headers and the like never go up', async () => {
  const upstream = closing(await startScript('legacy', served));
  const gateway = closing(await startGateway(upstream.url));
  const headers = {
    cookie: 'a=b',
    'x-forwarded-for': '10.0.0.1',
    forwarded: 'for=10.0.0.1',
    'x-api-key': 'k',
    'last-event-id': '1',
    'mcp-session-id': 'mine',
    origin: 'http://localhost:3000',
  };
  expect((await callModern(gateway.url, 'tools/call', { name: 't' }, { headers })).status).toBe(200);
  for (const request of upstream.requests) {
    for (const name of Object.keys(headers)) {
      if (name === 'mcp-session-id') expect(request.headers[name]).not.toBe('mine');
      else expect(request.headers).not.toHaveProperty(name);
    }
    expect(request.headers.host).toBe(new URL(upstream.url).host);
  }
});

import { request as send } from 'node:http';
import { describe, expect, it } from 'vitest';
import { GATEWAY_CODE } from '../../../src/errors/gateway-error.js';
import { POST_HEADERS, RawConnection, requestText } from './raw-connection.js';
import { ask, startApp } from './started-app.js';

describe('transfer encoding of a body', () => {
  it('is refused unless it is chunked and nothing else', async () => {
    const app = await startApp();
    for (const encoding of ['gzip, chunked', 'identity, chunked']) {
      const raw = await RawConnection.open(app.port);
      const headers = [...POST_HEADERS, `Transfer-Encoding: ${encoding}`];
      raw.send(`${requestText('POST', '/mcp', headers)}2\r\n{}\r\n0\r\n\r\n`);
      expect(await raw.all()).toMatch(/^HTTP\/1\.1 501 Not Implemented\r\n/);
    }
    expect(app.calls).toHaveLength(0);
  });
});

describe('size of a body', () => {
  it('is refused by its Content-Length before any of it came, and the connection closed', async () => {
    const app = await startApp({ limits: { bodyBytes: 1_000 } });
    const raw = await RawConnection.open(app.port);
    raw.send(requestText('POST', '/mcp', [...POST_HEADERS, 'Content-Length: 1001']));
    const answer = await raw.until(/\}\}$/);
    expect(answer).toMatch(/^HTTP\/1\.1 413 Payload Too Large\r\n/);
    expect(answer).toMatch(/Connection: close/i);
    expect(JSON.parse(answer.slice(answer.indexOf('{')))).toMatchObject({
      jsonrpc: '2.0',
      error: { code: GATEWAY_CODE.refused },
    });
    await raw.ended;
    expect(app.calls).toHaveLength(0);
  });

  it('is refused while streaming, and the answer survives a client that goes on sending', async () => {
    const app = await startApp({ limits: { bodyBytes: 1_000 } });
    const status = await new Promise<number>((resolve, reject) => {
      const outgoing = send({
        port: app.port,
        method: 'POST',
        path: '/mcp',
        headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
      });
      outgoing.on('error', reject);
      outgoing.on('response', (response) => {
        clearInterval(timer);
        outgoing.destroy();
        resolve(response.statusCode ?? 0);
      });
      const timer = setInterval(() => outgoing.write('x'.repeat(500)), 1);
    });
    expect(status).toBe(413);
    expect(app.calls).toHaveLength(0);
  });

  it('lets the limit itself pass', async () => {
    const app = await startApp({ limits: { bodyBytes: 1_000 } });
    expect((await ask(app, 'POST', '/mcp', { body: 'x'.repeat(1_000) })).status).toBe(200);
    expect((await ask(app, 'POST', '/mcp', { body: 'x'.repeat(1_001) })).status).toBe(413);
    // Bytes, not characters.
    expect((await ask(app, 'POST', '/mcp', { body: 'é'.repeat(501) })).status).toBe(413);
  });

  it('does not invite a body that is refused by its headers', async () => {
    const app = await startApp({ limits: { bodyBytes: 1_000 } });
    const raw = await RawConnection.open(app.port);
    raw.send(requestText('POST', '/mcp', [...POST_HEADERS, 'Expect: 100-continue', 'Content-Length: 2000']));
    expect(await raw.until(/\}\}$/)).toMatch(/^HTTP\/1\.1 413 /);
    const invited = await RawConnection.open(app.port);
    const head = [...POST_HEADERS, 'Expect: 100-continue', 'Content-Length: 2', 'Connection: close'];
    await invited.send(requestText('POST', '/mcp', head)).until(/^HTTP\/1\.1 100 Continue\r\n\r\n/);
    expect(await invited.send('{}').all()).toContain('HTTP/1.1 200 OK');
  });
});

describe('type of a body', () => {
  it('must be JSON in UTF-8, else 415', async () => {
    const app = await startApp();
    const cases: [type: string | undefined, status: number][] = [
      ['application/json', 200],
      ['APPLICATION/JSON', 200],
      ['application/json;charset=utf-8', 200],
      ['application/json; charset="UTF-8"', 200],
      ['application/json; charset=utf8; x=y', 200],
      ['application/json; charset=utf-16', 415],
      ['application/json; charset=iso-8859-1', 415],
      ['application/jsonx', 415],
      ['application/json, text/plain', 415],
      ['text/plain', 415],
      ['text/plain; application/json', 415],
      ['application/vnd.api+json', 415],
      ['', 415],
      [undefined, 415],
    ];
    for (const [type, expected] of cases) {
      const raw = await RawConnection.open(app.port);
      const headers = [...(type === undefined ? [] : [`Content-Type: ${type}`]), 'Connection: close'];
      const answer = await raw.send(requestText('POST', '/mcp', headers, '{}')).all();
      expect([type, Number(answer.slice(9, 12))]).toEqual([type, expected]);
    }
  });

  it('must not be compressed, else 415', async () => {
    const app = await startApp();
    const cases: [encoding: string, status: number][] = [
      ['identity', 200],
      ['gzip', 415],
      ['br', 415],
      ['identity, gzip', 415],
    ];
    for (const [encoding, expected] of cases) {
      const { status } = await ask(app, 'POST', '/mcp', { headers: { 'content-encoding': encoding } });
      expect([encoding, status]).toEqual([encoding, expected]);
    }
  });
});

describe('text of a body', () => {
  it('must be valid UTF-8, else 400 and -32700', async () => {
    const app = await startApp();
    for (const bytes of [[0x22, 0xff, 0x22], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80]]) {
      const { status, json } = await ask(app, 'POST', '/mcp', { body: Buffer.from(bytes) });
      expect([status, json.error.code]).toEqual([400, -32_700]);
    }
    expect(app.calls).toHaveLength(0);
  });

  it('loses its byte order mark and nothing else', async () => {
    const app = await startApp();
    for (const body of ['', '\ufeff', '\ufeff{"a":"é\ufeff𝒳"}', '{"a":"\u2028"}']) {
      await ask(app, 'POST', '/mcp', { body });
      expect(app.calls.at(-1)?.request.body).toBe(body.replace(/^\ufeff/, ''));
    }
  });

  it('arrives whole, however it was cut into chunks', async () => {
    const app = await startApp();
    const raw = await RawConnection.open(app.port);
    raw.send(
      requestText('POST', '/mcp', [...POST_HEADERS, 'Transfer-Encoding: chunked', 'Connection: close']),
    );
    for (const byte of Buffer.from('"é𝒳"')) raw.send(Buffer.from([0x31, 13, 10, byte, 13, 10]));
    await raw.send('0\r\n\r\n').all();
    expect(app.calls[0]?.request.body).toBe('"é𝒳"');
  });
});

describe('arrival of a body', () => {
  it('is bounded in time: 408, and the connection closed', async () => {
    const app = await startApp({ timeouts: { bodyMs: 100 } });
    const raw = await RawConnection.open(app.port);
    const started = performance.now();
    raw.send(requestText('POST', '/mcp', [...POST_HEADERS, 'Content-Length: 100']));
    const trickle = setInterval(() => raw.send('x'), 20);
    const answer = await raw.until(/\}\}$/);
    clearInterval(trickle);
    expect(answer).toMatch(/^HTTP\/1\.1 408 [^]*bodyMs/);
    expect(performance.now() - started).toBeGreaterThanOrEqual(95);
    await raw.ended;
    expect(app.calls).toHaveLength(0);
  });

  it('leaves no timer behind when it has come', async () => {
    const app = await startApp();
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    await ask(app, 'POST');
    const before = timers();
    for (let round = 0; round < 20; round += 1) await ask(app, 'POST');
    expect(timers()).toBeLessThan(before + 10);
  });

  it('leaves nothing behind when the client goes away in the middle', async () => {
    const app = await startApp({ limits: { concurrentRequests: 1, concurrentPerPrincipal: 1 } });
    for (let round = 0; round < 5; round += 1) {
      const raw = await RawConnection.open(app.port);
      raw.send(requestText('POST', '/mcp', [...POST_HEADERS, 'Content-Length: 100', 'Expect: 100-continue']));
      await raw.until(/100 Continue/);
      expect(app.app.running.size).toBe(1);
      const idle = new Promise<void>((resolve) => app.app.running.onIdle(resolve));
      raw.send('{"half').socket.destroySoon();
      await idle;
      expect(app.app.running.size).toBe(0);
    }
    // Its place is free again, and nobody was told of an error.
    expect((await ask(app, 'POST', '/mcp', { body: '{"id":1,"method":"x"}' })).status).toBe(200);
    expect(app.calls).toHaveLength(1);
    expect(app.logged).toEqual([]);
  });

  it('answers a broken chunk with 400', async () => {
    const app = await startApp();
    const raw = await RawConnection.open(app.port);
    raw.send(requestText('POST', '/mcp', [...POST_HEADERS, 'Transfer-Encoding: chunked'])).send('zz\r\n');
    expect(await raw.all()).toMatch(/^HTTP\/1\.1 400 /);
    expect(app.app.running.size).toBe(0);
    expect(app.logged).toEqual([]);
  });

  it('of a GET is thrown away and does not hide the end of the client', async () => {
    const app = await startApp();
    const raw = await RawConnection.open(app.port);
    raw.send(requestText('GET', '/mcp', ['Content-Length: 1000000'])).send('x'.repeat(1_000_000));
    await raw.until(/:\n\n/);
    const idle = new Promise<void>((resolve) => app.app.running.onIdle(resolve));
    raw.socket.destroy();
    await idle;
    expect(app.app.openStreams).toBe(0);
  });
});

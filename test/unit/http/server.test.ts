import { once } from 'node:events';
import { Agent, request as send } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createHttpApp } from '../../../src/http/app.js';
import { listen } from '../../../src/http/server.js';
import { POST_HEADERS, RawConnection, requestText } from './raw-connection.js';
import { ask, keepWaiting, startApp, testOptions } from './started-app.js';

const CALL = requestText('POST', '/mcp', POST_HEADERS, '{"jsonrpc":"2.0","id":1,"method":"x"}');

describe('listen', () => {
  it('says where', async () => {
    const { server } = await startApp();
    expect(server.url).toBe(`http://127.0.0.1:${server.port}`);
    const ipv6 = await listen(createHttpApp(testOptions({ listen: { host: '::1' } })), {
      host: '::1',
      port: 0,
    });
    expect(ipv6.url).toBe(`http://[::1]:${ipv6.port}`);
    expect(
      (
        await fetch(`${ipv6.url}/mcp`, {
          method: 'POST',
          body: '',
          headers: { 'content-type': 'application/json' },
        })
      ).status,
    ).toBe(200);
    await ipv6.close();
  });

  it('rejects when the port is taken', async () => {
    const taken = createTcpServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    onTestFinished(() => void taken.close());
    const { port } = taken.address() as AddressInfo;
    await expect(listen(createHttpApp(testOptions()), { host: '127.0.0.1', port })).rejects.toMatchObject({
      code: 'EADDRINUSE',
    });
  });
});

describe('what is no request', () => {
  it('is answered with 400 and closed', async () => {
    const app = await startApp();
    for (const text of [
      'hello\r\n\r\n',
      'GET /mcp HTTP/9.9\r\n\r\n',
      'POST /mcp HTTP/1.1\r\nContent-Length: x\r\n\r\n',
    ]) {
      const raw = await RawConnection.open(app.port);
      const answer = await raw.send(text).all();
      expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
      const body = answer.slice(answer.indexOf('\r\n\r\n') + 4);
      expect(JSON.parse(body)).toMatchObject({ jsonrpc: '2.0', error: { code: -31_013 } });
    }
  });

  it('smuggles nothing: two lengths are refused', async () => {
    const app = await startApp();
    const texts = [
      requestText('POST', '/mcp', [...POST_HEADERS, 'Content-Length: 2', 'Content-Length: 3'], '{}x'),
      requestText('POST', '/mcp', [...POST_HEADERS, 'Content-Length: 2', 'Transfer-Encoding: chunked'], '{}'),
      requestText('POST', '/mcp', [...POST_HEADERS, 'Transfer-Encoding: gzip, identity'], '{}'),
    ];
    for (const text of texts) {
      const raw = await RawConnection.open(app.port);
      expect(await raw.send(text).all()).toMatch(/^HTTP\/1\.1 400 /);
    }
    expect(app.calls).toHaveLength(0);
  });

  it('is not answered in the middle of another answer', async () => {
    const app = await startApp();
    const stream = await RawConnection.open(app.port);
    await stream.send(requestText('GET', '/mcp', [])).until(/:\n\n/);
    const before = stream.received;
    expect(await stream.send('garbage\r\n\r\n').all()).toBe(before);

    const pending = await startApp({ serve: keepWaiting });
    const raw = await RawConnection.open(pending.port);
    const next = pending.nextCall();
    raw.send(CALL);
    await next;
    expect(await raw.send('garbage\r\n\r\n').all()).toBe('');
  });

  it('is a header section that takes too long: 408', async () => {
    const app = await startApp({ timeouts: { headersMs: 200 } });
    const raw = await RawConnection.open(app.port);
    raw.send('POST /mcp HTTP/1.1\r\nHost: localhost\r\n');
    const trickle = setInterval(() => raw.send('X-A: b\r\n'), 50);
    const answer = await raw.all();
    clearInterval(trickle);
    expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
  });

  it('does not cut streams and pending answers that last longer', async () => {
    const app = await startApp({
      timeouts: { headersMs: 100, bodyMs: 100, idleMs: 100 },
      serve: keepWaiting,
    });
    const [stream, pending] = [await RawConnection.open(app.port), await RawConnection.open(app.port)];
    const [one, two] = [app.nextCall(), app.nextCall()];
    stream.send(requestText('GET', '/mcp', []));
    const sink = (await one).reply.stream();
    pending.send(CALL);
    const { reply } = await two;
    // Longer than all of node's bounds together, the slack of one second included.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    sink.send('data: late\n\n');
    reply.json(200, '{"late":true}');
    await Promise.all([stream.until(/data: late/), pending.until(/"late":true/)]);
  });
});

describe('close', () => {
  it('takes no more connections, ends long-lived streams and resolves', async () => {
    const app = await startApp();
    const raw = await RawConnection.open(app.port);
    await raw.send(requestText('GET', '/mcp', [])).until(/:\n\n/);
    const started = performance.now();
    await app.server.close({ graceMs: 5_000 });
    expect(performance.now() - started).toBeLessThan(1_000);
    expect(await raw.all()).toMatch(/0\r\n\r\n$/);
    expect(app.app.openStreams).toBe(0);
    await expect(RawConnection.open(app.port)).rejects.toThrow(/ECONNREFUSED/);
    // Again is no error.
    await app.server.close();
  });

  it('waits for running replies, JSON and streams', async () => {
    const app = await startApp({ serve: keepWaiting });
    const [json, stream] = [await RawConnection.open(app.port), await RawConnection.open(app.port)];
    const first = app.nextCall();
    json.send(CALL);
    const { reply } = await first;
    const second = app.nextCall();
    stream.send(CALL);
    const sink = (await second).reply.stream();
    const closing = app.server.close({ graceMs: 10_000 });
    expect(sink.open).toBe(true);
    sink.send('data: result\n\n');
    sink.end();
    reply.json(200, '{"done":true}');
    await closing;
    expect(await json.all()).toMatch(/^HTTP\/1\.1 200 OK[^]*Connection: close[^]*\{"done":true\}$/);
    expect(await stream.all()).toMatch(/data: result\n\n\r\n0\r\n\r\n$/);
  });

  it('ends what is left after the time of grace', async () => {
    const app = await startApp({ serve: keepWaiting });
    const [json, stream, stalled] = await Promise.all([1, 2, 3].map(() => RawConnection.open(app.port)));
    const first = app.nextCall();
    json!.send(CALL);
    await first;
    const second = app.nextCall();
    stream!.send(CALL);
    const sink = (await second).reply.stream();
    const third = app.nextCall();
    stalled!.socket.pause();
    stalled!.send(CALL);
    (await third).reply.stream().send(`data: ${'x'.repeat(30_000_000)}\n\n`);
    const started = performance.now();
    await app.server.close({ graceMs: 100 });
    const took = performance.now() - started;
    expect(took).toBeGreaterThanOrEqual(95);
    expect(took).toBeLessThan(3_000);
    expect(await json!.all()).toBe('');
    // A proper end tells a client that can resume to do so.
    expect(await stream!.all()).toMatch(/0\r\n\r\n$/);
    expect([sink.open, app.app.openStreams, app.app.running.size]).toEqual([false, 0, 0]);
  });

  it('refuses requests that arrive meanwhile: 503', async () => {
    const app = await startApp({ serve: keepWaiting });
    const [busy, halfway] = [await RawConnection.open(app.port), await RawConnection.open(app.port)];
    halfway.send('GET /mcp HTTP/1.1\r\n');
    const next = app.nextCall();
    busy.send(CALL);
    const { reply } = await next;
    const closing = app.server.close({ graceMs: 10_000 });
    const refused = await halfway.send('Host: localhost\r\n\r\n').all();
    expect(refused).toMatch(/^HTTP\/1\.1 503 [^]*Retry-After: 7[^]*Connection: close[^]*"code":-31012/);
    reply.json(200, '{}');
    await closing;
    expect(await busy.all()).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(app.calls).toHaveLength(1);
  });

  it('answers what runs and not what waits behind it on the same connection', async () => {
    const app = await startApp({ serve: keepWaiting });
    const raw = await RawConnection.open(app.port);
    const next = app.nextCall();
    raw.send(CALL);
    const { reply } = await next;
    const closing = app.server.close({ graceMs: 10_000 });
    raw.send(requestText('GET', '/mcp', []));
    reply.json(200, '{}');
    await closing;
    expect(await raw.all()).toMatch(/^HTTP\/1\.1 200 OK[^]*Connection: close[^]*\{\}$/);
    expect(app.calls).toHaveLength(1);
  });

  it('does not wait for idle connections', async () => {
    const app = await startApp();
    const agent = new Agent({ keepAlive: true });
    const outgoing = send({ port: app.port, path: '/mcp', method: 'DELETE', agent });
    outgoing.end();
    const [response] = await once(outgoing, 'response');
    response.resume();
    await once(response, 'end');
    const started = performance.now();
    await app.server.close({ graceMs: 10_000 });
    expect(performance.now() - started).toBeLessThan(1_000);
    agent.destroy();
    await expect(ask(app, 'GET')).rejects.toThrow(/ECONNREFUSED/);
  });
});

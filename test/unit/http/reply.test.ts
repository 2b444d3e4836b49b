import { once } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import type { EventSink } from '../../../src/http/port.js';
import { POST_HEADERS, RawConnection, requestText } from './raw-connection.js';
import { ask, keepWaiting, startApp, type StartedApp } from './started-app.js';

const CALL = requestText('POST', '/mcp', POST_HEADERS, '{"jsonrpc":"2.0","id":1,"method":"x"}');

function idle(app: StartedApp): Promise<void> {
  return new Promise((resolve) => app.app.running.onIdle(resolve));
}

describe('C19 a response to a notification', () => {
  it('is 202 without body and without Content-Type', async () => {
    const app = await startApp({
      serve: async (_upstream, _request, reply) => reply.empty(202, { 'Content-Type': 'application/json' }),
    });
    const raw = await RawConnection.open(app.port);
    const answer = await raw
      .send(requestText('POST', '/mcp', [...POST_HEADERS, 'Connection: close'], '{}'))
      .all();
    expect(answer).toMatch(/^HTTP\/1\.1 202 Accepted\r\n[^]*\r\n\r\n$/);
    expect(answer).not.toMatch(/content-type/i);
    expect(answer).not.toMatch(/transfer-encoding/i);
    expect(answer).toMatch(/content-length: 0/i);
  });
});

describe('a JSON answer', () => {
  it('has a length in bytes, is not stored, and keeps the connection', async () => {
    const app = await startApp({
      serve: async (_upstream, _request, reply) =>
        reply.json(200, '{"a":"é𝒳"}', { 'Mcp-Session-Id': 's1', 'content-length': '1' }),
    });
    const raw = await RawConnection.open(app.port);
    const answer = await raw.send(CALL).until(/\}$/);
    expect(answer).toMatch(/content-length: 14\r\n/i);
    expect(answer.match(/content-length/gi)).toHaveLength(1);
    expect(answer).toMatch(/cache-control: no-store\r\n/i);
    expect(answer).toMatch(/content-type: application\/json\r\n/i);
    expect(answer).toMatch(/Mcp-Session-Id: s1\r\n/);
    await raw.send(CALL).until(/\}HTTP[^]*\}$/);
  });

  it('sends a header once, whatever the letter case of its name, and several values one by one', async () => {
    const app = await startApp({
      serve: async (_upstream, _request, reply) =>
        reply.json(200, '{}', { 'cache-control': 'private', 'WWW-Authenticate': ['Bearer', 'Basic'] }),
    });
    const raw = await RawConnection.open(app.port);
    const answer = await raw.send(CALL).until(/\}$/);
    expect(answer.match(/cache-control: .*/gi)).toEqual(['cache-control: private']);
    expect(answer.match(/WWW-Authenticate: .*/g)).toEqual([
      'WWW-Authenticate: Bearer',
      'WWW-Authenticate: Basic',
    ]);
  });

  it('cannot be split by a header value or name', async () => {
    const injected = [
      { 'Mcp-Session-Id': 'a\r\nSet-Cookie: b=1' },
      { 'Mcp-Session-Id': 'a\nb' },
      { 'Mcp-Session-Id': ['fine', 'a\rb'] },
      { 'X\r\nY': 'a' },
      { 'X: Y': 'a' },
      { 'Mcp-Session-Id': 'a\u0000b' },
      { 'Mcp-Session-Id': '\u{1f600}' },
    ];
    for (const headers of injected) {
      const thrown: unknown[] = [];
      const app = await startApp({
        serve: async (_upstream, request, reply) => {
          const kinds = [
            () => reply.json(200, '{}', headers),
            () => reply.empty(202, headers),
            () => reply.stream(headers),
          ];
          for (const kind of kinds) {
            try {
              kind();
            } catch (error) {
              thrown.push(error);
            }
            expect(reply.started).toBe(false);
          }
          // Nothing was begun, so the request can still be answered.
          reply.json(200, '{"ok":true}', { 'X-Method': request.method });
        },
      });
      const answer = await ask(app, 'POST');
      expect([answer.status, answer.text, thrown.length]).toEqual([200, '{"ok":true}', 3]);
      expect(answer.headers).not.toHaveProperty('set-cookie');
      expect(answer.headers).not.toHaveProperty('mcp-session-id');
    }
  });

  it('is given once', async () => {
    const app = await startApp({
      serve: async (_upstream, _request, reply) => {
        reply.json(200, '{}');
        expect(() => reply.json(200, '{}')).toThrow(/begun already/);
        expect(() => reply.empty(202)).toThrow(/begun already/);
        expect(() => reply.stream()).toThrow(/begun already/);
      },
    });
    expect((await ask(app, 'POST')).text).toBe('{}');
    expect(app.logged).toEqual([]);
  });
});

describe('onClose', () => {
  it('is called when the client goes away while JSON is pending', async () => {
    for (const leave of ['destroy', 'end', 'resetAndDestroy'] as const) {
      const app = await startApp({ serve: keepWaiting });
      const raw = await RawConnection.open(app.port);
      const next = app.nextCall();
      raw.send(CALL);
      const { reply } = await next;
      const listener = vi.fn();
      reply.onClose(listener);
      const closed = new Promise<void>((resolve) => reply.onClose(resolve));
      expect(reply.closed).toBe(false);
      raw.socket[leave]();
      await closed;
      expect([reply.closed, reply.started, listener.mock.calls.length]).toEqual([true, false, 1]);
      // Late listeners are called at once, late answers go nowhere.
      const late = vi.fn();
      reply.onClose(late);
      expect(late).toHaveBeenCalledOnce();
      reply.json(200, '{}');
      expect(() => reply.json(200, '{}')).toThrow(/begun already/);
      await idle(app);
      expect(app.logged).toEqual([]);
    }
  });

  it('is called when the client goes away while a stream is open, once, and after it was closed', async () => {
    const app = await startApp();
    const raw = await RawConnection.open(app.port);
    const next = app.nextCall();
    raw.send(requestText('GET', '/mcp', []));
    const { reply } = await next;
    await raw.until(/:\n\n/);
    const listener = vi.fn();
    reply.onClose(listener);
    const gone = idle(app);
    raw.socket.destroy();
    await gone;
    expect(listener).toHaveBeenCalledOnce();
  });

  it('is never called after a complete answer', async () => {
    const listener = vi.fn();
    const serves = [
      startApp({
        serve: async (_upstream, _request, reply) => {
          reply.onClose(listener);
          reply.json(200, 'x'.repeat(1_000_000));
        },
      }),
      startApp({
        serve: async (_upstream, _request, reply) => {
          reply.onClose(listener);
          reply.empty(202);
        },
      }),
      startApp({
        serve: async (_upstream, _request, reply) => {
          reply.onClose(listener);
          const sink = reply.stream();
          sink.send(`data: ${'x'.repeat(1_000_000)}\n\n`);
          sink.end();
        },
      }),
    ];
    for (const start of serves) {
      const app = await start;
      for (let round = 0; round < 3; round += 1) {
        const next = app.nextCall();
        const answer = await ask(app, 'POST');
        const { reply } = await next;
        expect(answer.status).toBeLessThan(300);
        await idle(app);
        reply.onClose(listener);
        expect(reply.closed).toBe(false);
      }
    }
    expect(listener).not.toHaveBeenCalled();
  });

  it('is called when a large answer could not be delivered', async () => {
    for (const leave of ['destroy', 'end', 'resetAndDestroy'] as const) {
      const app = await startApp({ serve: keepWaiting });
      const raw = await RawConnection.open(app.port);
      raw.socket.pause();
      const next = app.nextCall();
      raw.send(CALL);
      const { reply } = await next;
      const closed = new Promise<void>((resolve) => reply.onClose(resolve));
      reply.json(200, JSON.stringify('x'.repeat(30_000_000)));
      raw.socket[leave]();
      if (leave === 'end') raw.socket.destroySoon();
      await closed;
      expect(reply.closed).toBe(true);
    }
  });

  it('is called for a request that waits behind another on its connection', async () => {
    const app = await startApp({ serve: keepWaiting });
    const raw = await RawConnection.open(app.port);
    const first = app.nextCall();
    const second = app.nextCall();
    raw.send(CALL + CALL);
    const replies = [(await first).reply, (await second).reply];
    const sink: EventSink = replies[1]!.stream();
    const closed = replies.map((reply) => new Promise<void>((resolve) => reply.onClose(resolve)));
    raw.socket.destroy();
    await Promise.all(closed);
    expect(sink.open).toBe(false);
    expect([app.app.running.size, app.app.openStreams]).toEqual([0, 0]);
  });
});

describe('requests on one connection', () => {
  it('are answered in order, and a stream holds up the next', async () => {
    const app = await startApp({ serve: keepWaiting });
    const raw = await RawConnection.open(app.port);
    const first = app.nextCall();
    const second = app.nextCall();
    raw.send(CALL + CALL);
    const [one, two] = [(await first).reply, (await second).reply];
    two.json(200, '{"second":true}');
    const sink = one.stream();
    sink.send('data: first\n\n');
    await raw.until(/data: first/);
    expect(raw.received).not.toContain('second');
    sink.end();
    await raw.until(/0\r\n\r\nHTTP\/1\.1 200 OK[^]*\{"second":true\}$/);
  });

  it('may be many at once, without a warning of a leak', async () => {
    const app = await startApp({ serve: keepWaiting });
    const warnings: Error[] = [];
    const onWarning = (warning: Error): unknown => warnings.push(warning);
    process.on('warning', onWarning);
    const raw = await RawConnection.open(app.port);
    const next = Array.from({ length: 30 }, () => app.nextCall());
    raw.send(CALL.repeat(30));
    for (const call of await Promise.all(next)) call.reply.json(200, '{"got":1}');
    while (raw.received.split('"got"').length < 31) await once(raw.socket, 'data');
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });

  it('may ask for an upgrade that is not given: Java clients do on every first request', async () => {
    const app = await startApp();
    const raw = await RawConnection.open(app.port);
    const upgrade = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAEAAEAA'];
    raw.send(requestText('POST', '/mcp', [...POST_HEADERS, ...upgrade], '{"id":1}'));
    await raw.until(/^HTTP\/1\.1 200 OK[^]*\{"got":/);
    expect(app.calls[0]?.request.body).toBe('{"id":1}');
  });

  it('may come over HTTP/1.0, streams included', async () => {
    const app = await startApp({
      serve: async (_upstream, _request, reply) => {
        const sink = reply.stream();
        sink.send('data: 1\n\n');
        sink.end();
      },
    });
    const raw = await RawConnection.open(app.port);
    raw.send('GET /mcp HTTP/1.0\r\nHost: localhost\r\n\r\n');
    await once(raw.socket, 'close');
    expect(raw.received).toMatch(/\r\n\r\n:\n\ndata: 1\n\n$/);
  });
});

import { describe, expect, it, vi } from 'vitest';
import type { EventSink } from '../../../src/http/port.js';
import { POST_HEADERS, RawConnection, requestText } from './raw-connection.js';
import { startApp, type Overrides, type StartedApp } from './started-app.js';

const GET = requestText('GET', '/mcp', ['Accept: text/event-stream']);

interface OpenStream {
  readonly app: StartedApp;
  readonly raw: RawConnection;
  readonly sink: EventSink;
}

async function openStream(overrides: Overrides = {}): Promise<OpenStream> {
  let resolve: (sink: EventSink) => void;
  const opened = new Promise<EventSink>((resolved) => (resolve = resolved));
  const app = await startApp({
    ...overrides,
    serve: async (_upstream, _request, reply) => resolve(reply.stream({ 'Mcp-Session-Id': 's' })),
  });
  const raw = await RawConnection.open(app.port);
  raw.send(GET);
  return { app, raw, sink: await opened };
}

/** More than all the kernel's buffers take, so that the reader's side decides. */
const HUGE = `data: ${'y'.repeat(30_000_000)}\n\n`;

function fill(sink: EventSink): number {
  const block = `data: ${'x'.repeat(100_000)}\n\n`;
  for (let count = 1; count < 1_000; count += 1) if (!sink.send(block)) return count;
  throw new Error('send never returned false');
}

describe('C10 byte 0', () => {
  it('headers and a comment are on the wire within 250 ms', async () => {
    const app = await startApp();
    for (const text of [GET, requestText('GET', '/mcp', [])]) {
      const raw = await RawConnection.open(app.port);
      const started = performance.now();
      const answer = await raw.send(text).until(/\r\n\r\n3\r\n:\n\n\r\n/);
      expect(performance.now() - started).toBeLessThan(250);
      expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
      expect(answer).toMatch(/^content-type: text\/event-stream\r$/im);
      expect(answer).toMatch(/^cache-control: no-cache, no-transform\r$/im);
      expect(answer).toMatch(/^x-accel-buffering: no\r$/im);
      raw.socket.destroy();
    }
  });

  it('is never compressed and never has a length', async () => {
    const app = await startApp();
    const raw = await RawConnection.open(app.port);
    raw.send(requestText('GET', '/mcp', ['Accept-Encoding: gzip, br', 'Accept: text/event-stream']));
    const answer = await raw.until(/:\n\n/);
    expect(answer).not.toMatch(/content-(encoding|length)/i);
  });

  it('takes the headers of the core, and keeps its own', async () => {
    const { raw } = await openStream();
    expect(await raw.until(/:\n\n/)).toMatch(/^Mcp-Session-Id: s\r$/m);
  });
});

describe('an open stream', () => {
  it('carries blocks in order and ends properly', async () => {
    const { app, raw, sink } = await openStream();
    const listener = vi.fn();
    sink.onClose(listener);
    expect(sink.open).toBe(true);
    expect(sink.send('data: é\n\n')).toBe(true);
    expect(sink.send('data: 2\n\n')).toBe(true);
    const idle = new Promise<void>((resolve) => app.app.running.onIdle(resolve));
    sink.end();
    expect([sink.open, listener.mock.calls.length]).toEqual([false, 1]);
    await raw.until(/:\n\n\r\n[^]*data: \u00c3\u00a9\n\n[^]*data: 2\n\n\r\n0\r\n\r\n$/);
    await idle;
    // No effect once closed.
    expect(sink.send('data: 3\n\n')).toBe(false);
    sink.end();
    sink.destroy();
    const late = vi.fn();
    sink.onClose(late);
    expect([late.mock.calls.length, listener.mock.calls.length]).toEqual([1, 1]);
    expect(app.app.openStreams).toBe(0);
    expect(app.calls[0]?.reply.closed).toBe(false);
  });

  it('is over when the client goes away', async () => {
    const { app, raw, sink } = await openStream();
    const closed = new Promise<void>((resolve) => sink.onClose(resolve));
    await raw.until(/:\n\n/);
    raw.socket.destroy();
    await closed;
    expect([sink.open, sink.bufferedBytes, sink.send('data: 1\n\n')]).toEqual([false, 0, false]);
    expect(app.app.openStreams).toBe(0);
    expect(app.calls[0]?.reply.closed).toBe(true);
  });

  it('ends also when the listeners of its end end it again', async () => {
    const { sink } = await openStream();
    const order: string[] = [];
    sink.onClose(() => {
      order.push('first');
      sink.end();
      sink.destroy();
      sink.onClose(() => order.push('nested'));
    });
    sink.onClose(() => order.push('second'));
    sink.end();
    expect(order).toEqual(['first', 'nested', 'second']);
  });

  it('is closed from the start for a client that went away before', async () => {
    let sink: EventSink | undefined;
    const app = await startApp({
      serve: (_upstream, _request, reply) =>
        new Promise((resolve) => {
          reply.onClose(() => {
            sink = reply.stream();
            resolve();
          });
        }),
    });
    const raw = await RawConnection.open(app.port);
    const next = app.nextCall();
    raw.send(GET);
    await next;
    const idle = new Promise<void>((resolve) => app.app.running.onIdle(resolve));
    raw.socket.destroy();
    await idle;
    const listener = vi.fn();
    sink?.onClose(listener);
    expect([sink?.open, sink?.send('x'), listener.mock.calls.length]).toEqual([false, false, 1]);
    await new Promise<void>((resolve) => sink?.onDrain(resolve));
    expect(app.app.openStreams).toBe(0);
  });
});

describe('a reader that does not read', () => {
  it('makes send return false, bytes add up, and destroy frees them', async () => {
    const { app, raw, sink } = await openStream({ limits: { streamBufferBytes: 200_000 } });
    raw.socket.pause();
    fill(sink);
    const buffered = sink.bufferedBytes;
    expect(buffered).toBeGreaterThan(200_000);
    expect(sink.send('data: more\n\n')).toBe(false);
    expect(sink.bufferedBytes).toBeGreaterThan(buffered);
    const drained = new Promise<void>((resolve) => sink.onDrain(resolve));
    const idle = new Promise<void>((resolve) => app.app.running.onIdle(resolve));
    sink.destroy();
    await drained;
    await idle;
    expect([sink.bufferedBytes, sink.open, app.app.openStreams]).toEqual([0, false, 0]);
    expect(app.calls[0]?.reply.closed).toBe(true);
  });

  it('is told by onDrain when it may go on, once, and nothing is lost', async () => {
    const { raw, sink } = await openStream();
    raw.socket.pause();
    const count = fill(sink);
    const listener = vi.fn();
    const drained = new Promise<void>((resolve) => sink.onDrain(resolve));
    sink.onDrain(listener);
    raw.socket.resume();
    await drained;
    expect([listener.mock.calls.length, sink.bufferedBytes]).toEqual([1, 0]);
    expect(sink.send('data: last\n\n')).toBe(true);
    await raw.until(/data: last/);
    expect(raw.received.match(/data: x/g)).toHaveLength(count);
    expect(listener).toHaveBeenCalledOnce();
  });

  it('does not make a writer wait for a drain that has passed', async () => {
    const { raw, sink } = await openStream();
    raw.socket.pause();
    fill(sink);
    const drained = new Promise<void>((resolve) => sink.onDrain(resolve));
    raw.socket.resume();
    await drained;
    await new Promise<void>((resolve) => sink.onDrain(resolve));
  });

  it('is cut off once it has taken nothing for stallMs, with the stream open or ended', async () => {
    for (const ended of [false, true]) {
      const { app, raw, sink } = await openStream({ timeouts: { stallMs: 200, keepAliveMs: 40 } });
      raw.socket.pause();
      const idle = new Promise<void>((resolve) => app.app.running.onIdle(resolve));
      sink.send(HUGE);
      if (ended) sink.end();
      const started = performance.now();
      await idle;
      expect(performance.now() - started).toBeGreaterThanOrEqual(150);
      expect([sink.open, app.calls[0]?.reply.closed]).toEqual([false, true]);
    }
  });

  it('holds a place for stallMs at most, also with a JSON answer', async () => {
    const app = await startApp({
      timeouts: { stallMs: 200 },
      serve: async (_upstream, _request, reply) => reply.json(200, JSON.stringify('x'.repeat(30_000_000))),
    });
    const raw = await RawConnection.open(app.port);
    raw.socket.pause();
    const next = app.nextCall();
    raw.send(requestText('POST', '/mcp', POST_HEADERS, '{}'));
    await next;
    await new Promise<void>((resolve) => app.app.running.onIdle(resolve));
    expect(app.calls[0]?.reply.closed).toBe(true);
  });

  it('lives on when it is merely slow', async () => {
    const { raw, sink } = await openStream({ timeouts: { stallMs: 1_000 } });
    raw.socket.pause();
    sink.send(HUGE);
    // A little now and then: far longer than stallMs in total, never that long without a byte.
    const sip = setInterval(() => {
      raw.socket.resume();
      raw.socket.once('data', () => raw.socket.pause());
    }, 5);
    const started = performance.now();
    const drained = new Promise<void>((resolve) => sink.onDrain(resolve));
    await drained;
    clearInterval(sip);
    expect(performance.now() - started).toBeGreaterThan(1_000);
    expect(sink.open).toBe(true);
    raw.socket.resume();
    await raw.untilLength(HUGE.length);
    // The bound is gone with what was waiting.
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(sink.open).toBe(true);
  });
});

import { describe, expect, it, vi, afterEach } from 'vitest';
import { KeepAlive, type KeptAlive } from '../../../src/http/keep-alive.js';
import { RawConnection, requestText } from './raw-connection.js';
import { startApp } from './started-app.js';

const GET = requestText('GET', '/mcp', []);

/** A stream on the fake clock that notes when it was written to. */
class FakeStream implements KeptAlive {
  bufferedBytes = 0;
  lastWriteAt = performance.now();
  readonly comments: number[] = [];
  comment(): void {
    this.lastWriteAt = performance.now();
    this.comments.push(this.lastWriteAt);
  }
}

describe('KeepAlive', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('never lets a stream be silent for longer than keepAliveMs, whenever it was written to', () => {
    vi.useFakeTimers();
    const keepAlive = new KeepAlive(15_000);
    const streams: FakeStream[] = [];
    const started = performance.now();
    for (let index = 0; index < 50; index += 1) {
      const stream = new FakeStream();
      keepAlive.add(stream);
      streams.push(stream);
      vi.advanceTimersByTime(317);
    }
    vi.advanceTimersByTime(310_000);
    streams.forEach(({ comments }, index) => {
      let last = started + index * 317;
      for (const at of comments) {
        expect(at - last).toBeLessThanOrEqual(15_000);
        expect(at - last).toBeGreaterThan(10_000);
        last = at;
      }
      expect(performance.now() - last).toBeLessThanOrEqual(15_000);
    });
  });

  it('writes nothing to a stream that is busy or has a reader behind', () => {
    vi.useFakeTimers();
    const keepAlive = new KeepAlive(1_000);
    const [busy, behind] = [new FakeStream(), new FakeStream()];
    behind.bufferedBytes = 1;
    keepAlive.add(busy);
    keepAlive.add(behind);
    for (let round = 0; round < 100; round += 1) {
      vi.advanceTimersByTime(100);
      busy.lastWriteAt = performance.now();
    }
    expect([busy.comments, behind.comments]).toEqual([[], []]);
    behind.bufferedBytes = 0;
    vi.advanceTimersByTime(125);
    expect(behind.comments).toHaveLength(1);
  });

  it('has one timer while there are streams, and none otherwise', () => {
    vi.useFakeTimers();
    const keepAlive = new KeepAlive(1_000);
    const streams = Array.from({ length: 100 }, () => new FakeStream());
    expect(vi.getTimerCount()).toBe(0);
    for (const stream of streams) keepAlive.add(stream);
    expect([vi.getTimerCount(), keepAlive.size]).toEqual([1, 100]);
    for (const stream of streams) keepAlive.delete(stream);
    expect([vi.getTimerCount(), keepAlive.size]).toEqual([0, 0]);
    keepAlive.delete(streams[0]!);
    keepAlive.add(streams[0]!);
    vi.advanceTimersByTime(1_000);
    expect(streams[0]!.comments).toHaveLength(1);
  });

  it('bears streams that end while it writes', () => {
    vi.useFakeTimers();
    const keepAlive = new KeepAlive(80);
    const stream = new FakeStream();
    vi.spyOn(stream, 'comment').mockImplementation(() => keepAlive.delete(stream));
    keepAlive.add(stream);
    keepAlive.add(new FakeStream());
    vi.advanceTimersByTime(200);
    expect(keepAlive.size).toBe(1);
  });
});

describe('C10 comments on the wire', () => {
  it('come at least every keepAliveMs', async () => {
    const keepAliveMs = 200;
    const app = await startApp({ timeouts: { keepAliveMs } });
    const raw = await RawConnection.open(app.port);
    const times: number[] = [];
    const done = new Promise<void>((resolve) => {
      raw.socket.on('data', () => {
        times.push(performance.now());
        if (times.length === 8) resolve();
      });
    });
    raw.send(GET);
    await done;
    const gaps = times.slice(1).map((time, index) => time - times[index]!);
    // Scheduling on a busy machine is not ours to bound.
    for (const gap of gaps) expect(gap).toBeLessThanOrEqual(keepAliveMs + 50);
    expect(raw.received.match(/3\r\n:\n\n\r\n/g)).toHaveLength(8);
  });
});

describe('clients that come and go', () => {
  it('leave no stream behind after 1000 rapid connections', async () => {
    const app = await startApp({ timeouts: { keepAliveMs: 8 } });
    let opened = 0;
    const cycle = async (): Promise<void> => {
      while (opened < 1_000) {
        opened += 1;
        const kind = opened % 3;
        const raw = await RawConnection.open(app.port);
        raw.send(GET);
        // Before the answer, in the middle of it, and by a reset.
        if (kind !== 0) await raw.until(/:\n\n/);
        if (kind === 1) raw.socket.resetAndDestroy();
        else raw.socket.destroy();
      }
    };
    await Promise.all(Array.from({ length: 20 }, cycle));
    // One more goes through all that the others left in the queues of the kernel.
    const last = await RawConnection.open(app.port);
    await last.send(GET).until(/:\n\n/);
    last.socket.destroy();
    await new Promise<void>((resolve) => app.app.running.onIdle(resolve));
    expect([app.app.openStreams, app.app.running.size]).toEqual([0, 0]);
    expect(app.calls.length).toBeGreaterThan(600);
    expect(app.calls.filter(({ reply }) => reply.started && !reply.closed)).toEqual([]);
    expect(app.logged).toEqual([]);
  });
});

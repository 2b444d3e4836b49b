import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { ERAS, startScript } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import type { RawResponse } from '../peers/raw-client.js';
import { scriptedTool } from '../peers/scripted-server.js';
import { openWireSession, WireSession } from '../peers/wire-client.js';
import { TOOLS_CHANGED, startDriven, summary } from './driven-upstream.js';

/** The id a client that read this much would resume from. */
function lastId(response: RawResponse): string {
  const id = response.blocks.findLast((block) => block.id !== undefined)?.id;
  if (id === undefined) throw new Error('no event id came');
  return id;
}

/** Everything a client keeps over a restart: nothing else of the session is used again. */
function restarted({ url, id, revision }: WireSession): WireSession {
  return new WireSession(url, id, revision, undefined, {});
}

/** Resolves at that time on the clock of `performance.now()`: timers alone know whole milliseconds only. */
async function until(time: number): Promise<void> {
  const left = time - performance.now();
  if (left > 2) await new Promise((resolve) => setTimeout(resolve, Math.floor(left) - 1));
  while (performance.now() < time) await new Promise((resolve) => setImmediate(resolve));
}

describe.each(ERAS)('X21 X26 replay, %s upstream', (era) => {
  test('X21 interrupted after every event, each time by a client restarted without initialize: each once', async () => {
    const { gateway, call, upstream } = await startDriven(era);
    let session = await openWireSession(gateway.url);
    const [first, running] = await call(session, 'p');
    const got: string[] = [];
    let stream = first;
    for (let value = 1; value <= 10; value++) {
      running.progress(value);
      await stream.next();
      got.push(...summary(stream));
      stream.close();
      session = restarted(session);
      stream = await session.get(lastId(stream));
    }
    running.finish();
    await stream.text();
    got.push(...summary(stream));
    expect(got).toEqual([...Array.from({ length: 10 }, (_, i) => `p:${i + 1}`), 'p=p']);
    expect(upstream.requestsFor('tools/call')).toHaveLength(1);
    const initializes = upstream.requestsFor(era === 'legacy' ? 'initialize' : 'server/discover');
    expect(initializes).toHaveLength(1);
  });

  test('X21 interrupted again during the resume, before anything came: the same token still works', async () => {
    const { gateway, call } = await startDriven(era);
    const session = await openWireSession(gateway.url);
    const [first, running] = await call(session, 'p');
    running.progress(1);
    await first.next();
    first.close();
    const id = lastId(first);
    for (let i = 0; i < 5; i++) {
      const stream = await session.get(id);
      expect(stream.status).toBe(200);
      stream.close();
      await stream.ended;
    }
    running.progress(2);
    running.finish();
    const last = await session.get(id);
    await last.text();
    expect(summary(last)).toEqual(['p:2', 'p=p']);
  });

  test('C8 a newer connection takes the stream over: the older ends, and hears nothing more', async () => {
    const { gateway, call } = await startDriven(era);
    const session = await openWireSession(gateway.url);
    const [first, running] = await call(session, 'p');
    running.progress(1);
    await first.next();
    const second = await session.get(lastId(first));
    expect(await first.ended).toBe('finished');
    const third = await session.get(lastId(first));
    expect(await second.ended).toBe('finished');
    running.progress(2);
    running.finish();
    await third.text();
    expect(summary(first)).toEqual(['p:1']);
    expect(summary(second)).toEqual([]);
    expect(summary(third)).toEqual(['p:2', 'p=p']);
  });

  test('X21 reconnects within 5 ms of the result, before and after it: exactly once in every one of 1,000', async () => {
    const { gateway, call } = await startDriven(era);
    let before = 0;
    const reconnect = async (session: WireSession, number: number): Promise<void> => {
      const label = `p${number}`;
      const [first, running] = await call(session, label);
      running.progress(1);
      await first.next();
      first.close();
      const id = lastId(first);
      const offset = ((number % 101) - 50) / 10;
      const start = performance.now() + 6;
      let finished = false;
      const resuming = until(start + offset).then(() => {
        if (!finished) before++;
        return session.get(id);
      });
      await until(start);
      finished = true;
      running.finish();
      const resumed = await resuming;
      await resumed.text();
      expect(summary(resumed)).toEqual([`${label}=${label}`]);
    };
    // Neighbours in time, so that the gateway has other things to do at each tick.
    for (let from = 0; from < 1000; from += 20) {
      const session = await openWireSession(gateway.url);
      await Promise.all(Array.from({ length: 20 }, (_, i) => reconnect(session, from + i)));
    }
    expect(before).toBeGreaterThan(300);
    expect(before).toBeLessThan(700);
  }, 60_000);

  test('C8 several calls at one time, each interrupted and resumed: nothing crosses over', async () => {
    const { gateway, call } = await startDriven(era);
    const session = await openWireSession(gateway.url);
    const labels = ['a', 'b', 'c', 'd', 'e'];
    const started = await Promise.all(
      labels.map(async (label) => [label, await call(session, label)] as const),
    );
    for (const [, [, running]] of started) running.progress(1);
    const resumed = await Promise.all(
      started.map(async ([label, [first, running]]) => {
        await first.next();
        first.close();
        running.progress(2);
        return [label, running, await session.get(lastId(first))] as const;
      }),
    );
    for (const [, running] of [...resumed].reverse()) {
      running.progress(3);
      running.finish();
    }
    for (const [label, , stream] of resumed) {
      await stream.text();
      expect(summary(stream)).toEqual([`${label}:2`, `${label}:3`, `${label}=${label}`]);
    }
  });

  test('C9 X26 priming for 2025-11-25 only, with an id that resumes from the very beginning', async () => {
    const { gateway, call } = await startDriven(era);
    const session = await openWireSession(gateway.url);
    const [first, running] = await call(session, 'p');
    const priming = await first.next(({ data }) => data !== undefined);
    expect(priming).toMatchObject({ data: '', id: expect.any(String), retry: expect.any(String) });
    running.progress(1);
    await first.next();
    first.close();
    running.finish();
    const resumed = await session.get(priming.id);
    await resumed.text();
    expect(summary(resumed)).toEqual(['p:1', 'p=p']);

    const old = await openWireSession(gateway.url, { revision: '2025-06-18' });
    const [stream, oldCall] = await call(old, 'old');
    oldCall.progress(1);
    await stream.next();
    stream.close();
    oldCall.finish();
    const oldResumed = await old.get(lastId(stream));
    await oldResumed.text();
    expect(summary(oldResumed)).toEqual(['old=old']);
    for (const { data, retry } of [...stream.blocks, ...oldResumed.blocks]) {
      expect(data).not.toBe('');
      expect(retry).toBeUndefined();
    }
  });

  test('X26 polling.closeAfterMs: retry, a proper end, and the client polls its way to the result', async () => {
    const config = { polling: { closeAfterMs: 40, retryMs: 15 } };
    const { gateway, call } = await startDriven(era, { config });
    const session = await openWireSession(gateway.url);
    const [first, running] = await call(session, 'p');
    running.progress(1);
    const got: string[] = [];
    let stream = first;
    let id = '';
    for (let polls = 0; polls < 4; polls++) {
      expect(await stream.ended).toBe('finished');
      expect(stream.blocks.at(-1)?.retry).toBe('15');
      got.push(...summary(stream));
      id = stream.blocks.findLast((block) => block.id !== undefined)?.id ?? id;
      if (polls > 0) running.progress(polls + 1);
      stream = await session.get(id);
    }
    await stream.ended;
    got.push(...summary(stream));
    id = stream.blocks.findLast((block) => block.id !== undefined)?.id ?? id;
    running.finish();
    const last = await session.get(id);
    await last.text();
    got.push(...summary(last));
    expect(got).toEqual(['p:1', 'p:2', 'p:3', 'p:4', 'p=p']);
  });

  test('X26 polling.closeAfterMs is not for clients older than 2025-11-25', async () => {
    const { gateway, call } = await startDriven(era, { config: { polling: { closeAfterMs: 20 } } });
    const session = await openWireSession(gateway.url, { revision: '2025-06-18' });
    const [first, running] = await call(session, 'p');
    const [other, longer] = await call(await openWireSession(gateway.url), 'q');
    await other.ended;
    running.progress(1);
    running.finish();
    longer.finish();
    await first.text();
    expect(summary(first)).toEqual(['p:1', 'p=p']);
  });

  test('X26 a response evicted for want of room: an error under the id of its request, other streams untouched', async () => {
    const { gateway, call } = await startDriven(era, { config: { replay: { maxEvents: 3 } } });
    const session = await openWireSession(gateway.url);
    const streams = [];
    for (const label of ['a', 'b', 'c', 'd', 'e']) {
      const [first, running] = await call(session, label);
      running.progress(1);
      await first.next();
      first.close();
      await first.ended;
      streams.push([label, lastId(first), running] as const);
    }
    for (const [, , running] of streams) {
      running.finish();
      // By the time of this answer the gateway has read that one.
      await session.call('resources/list');
      await session.call('prompts/list');
    }
    const answers = await Promise.all(
      streams.map(async ([, id]) => {
        const resumed = await session.get(id);
        expect(resumed.status).toBe(200);
        await resumed.text();
        return summary(resumed);
      }),
    );
    expect(answers).toEqual([['a=-31007'], ['b=-31007'], ['c=c'], ['d=d'], ['e=e']]);
  });

  test('X26 a response past its time: an error under the id of its request, from an id before it only', async () => {
    const { gateway, call } = await startDriven(era, { config: { replay: { maxAgeMs: 60 } } });
    const session = await openWireSession(gateway.url);
    const [first, running] = await call(session, 'p');
    running.progress(1);
    await first.next();
    const id = lastId(first);
    running.finish();
    await first.text();
    const end = lastId(first);
    await expect
      .poll(async () => {
        const resumed = await session.get(id);
        await resumed.text();
        return summary(resumed);
      })
      .toEqual(['p=-31007']);
    // What it got it has.
    const resumed = await session.get(end);
    await resumed.text();
    expect(resumed.status).toBe(200);
    expect(summary(resumed)).toEqual([]);
  });

  test('X26 bytes bound what is kept: notifications go first, and the response stays', async () => {
    const { gateway, call } = await startDriven(era, { config: { replay: { maxBytes: 3000 } } });
    const session = await openWireSession(gateway.url);
    const [first, running] = await call(session, 'p');
    running.progress(1);
    await first.next();
    first.close();
    await first.ended;
    for (let value = 2; value <= 40; value++) running.progress(value);
    running.finish('x'.repeat(1500));
    const resumed = await session.get(lastId(first));
    await resumed.text();
    const got = summary(resumed);
    expect(got.at(-1)).toBe(`p=${'x'.repeat(1500)}`);
    expect(got.length).toBeGreaterThan(2);
    expect(got.length).toBeLessThan(20);
    const values = got.slice(0, -1).map((text) => Number(text.split(':')[1]));
    expect(values).toEqual(Array.from(values, (_, i) => 41 - values.length + i));
  });

  test('X26 a total over all sessions bounds what is kept', async () => {
    const { gateway, call } = await startDriven(era, { config: { replay: { maxTotalBytes: 4000 } } });
    const ids: [WireSession, string][] = [];
    for (const label of ['a', 'b', 'c', 'd']) {
      const session = await openWireSession(gateway.url);
      const [first, running] = await call(session, label);
      running.progress(1);
      await first.next();
      ids.push([session, lastId(first)]);
      running.finish('x'.repeat(1500));
      await first.text();
    }
    const answers = await Promise.all(
      ids.map(async ([session, id]) => {
        const resumed = await session.get(id);
        await resumed.text();
        return summary(resumed)[0]?.length;
      }),
    );
    // Those that came when the room was taken cannot be replayed, and say so; all were delivered live.
    expect(answers).toEqual([1502, 1502, 'c=-31007'.length, 'd=-31007'.length]);
  });

  test("X26 a response larger than a reader's buffer arrives, live and resumed", async () => {
    const config = { limits: { streamBufferBytes: 65_536 } };
    const { gateway, call } = await startDriven(era, { config });
    const session = await openWireSession(gateway.url);
    const [first, running] = await call(session, 'p');
    running.progress(1);
    await first.next();
    const id = lastId(first);
    const text = 'x'.repeat(3_500_000);
    running.finish(text);
    await first.text();
    const resumed = await session.get(id);
    await resumed.text();
    for (const stream of [first, resumed]) expect(stream.messages.at(-1).result.content[0].text).toBe(text);
  });

  test("X26 a replay larger than a reader's buffer arrives whole, and the events behind it", async () => {
    const config = { limits: { streamBufferBytes: 65_536 } };
    const { gateway, call } = await startDriven(era, { config });
    const session = await openWireSession(gateway.url);
    const [first, running] = await call(session, 'p');
    running.progress(0);
    await first.next();
    first.close();
    await first.ended;
    const message = 'm'.repeat(5000);
    for (let value = 1; value <= 300; value++) {
      running.stream.send({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: {
          progressToken: running.request.message.params._meta.progressToken,
          progress: value,
          message,
        },
      });
    }
    const resumed = await session.get(lastId(first));
    await resumed.next();
    running.progress(301);
    running.finish();
    await resumed.text();
    expect(summary(resumed)).toEqual([...Array.from({ length: 301 }, (_, i) => `p:${i + 1}`), 'p=p']);
  });

  test('X26 a reader that does not read is cut off, and resumes with nothing lost', async () => {
    const config = {
      limits: { streamBufferBytes: 65_536 },
      replay: { maxEvents: 20_000, maxBytes: 64 << 20 },
    };
    const { gateway, call, calls } = await startDriven(era, { config });
    const session = await openWireSession(gateway.url);
    const { port, pathname, host } = new URL(gateway.url);
    const socket = connect(Number(port), '127.0.0.1');
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 'slow',
      method: 'tools/call',
      params: { name: 't', arguments: { label: 'slow' }, _meta: { progressToken: 'slow' } },
    });
    const headers = {
      ...session.headers,
      host,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`POST ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
    await expect.poll(() => calls.has('slow')).toBe(true);
    const running = calls.get('slow');
    if (running === undefined) throw new Error('unreachable');
    running.progress(0);
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    let received = chunk.toString();
    while (!received.includes('"progress":0')) received += String((await once(socket, 'data'))[0]);
    socket.pause();
    const id = [...received.matchAll(/^id: (.*)$/gm)].at(-1)?.[1];
    const closed = once(socket, 'close');
    socket.on('error', () => undefined);
    const message = 'm'.repeat(20_000);
    const { progressToken } = running.request.message.params._meta;
    for (let value = 1; value <= 1500; value++) {
      running.stream.send({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken, progress: value, message },
      });
    }
    // It is cut off while the call runs on; another call on the same session is served meanwhile.
    const [other, quick] = await call(session, 'quick');
    quick.finish();
    expect((await other.rpc()).result).toBeDefined();
    socket.resume();
    await closed;
    running.finish();
    // While the upstream is still faster than this reader it may be cut off again: it comes back as often as it takes.
    const seen: string[] = [];
    let from = id;
    for (let end = 'cut'; end === 'cut';) {
      const resumed = await session.get(from);
      end = await resumed.ended;
      seen.push(...summary(resumed));
      from = resumed.blocks.findLast((block) => block.id !== undefined)?.id ?? from;
    }
    expect(seen).toEqual([...Array.from({ length: 1500 }, (_, i) => `slow:${i + 1}`), 'slow=slow']);
  });

  test('X21 more detached calls than the cap: the oldest is cancelled upstream, and its client told so', async () => {
    const { gateway, call, upstream } = await startDriven(era, {
      config: { limits: { detachedPerPrincipal: 2 } },
    });
    const session = await openWireSession(gateway.url);
    const ids: string[] = [];
    for (const label of ['a', 'b', 'c']) {
      const [first, running] = await call(session, label);
      running.progress(1);
      await first.next();
      first.close();
      await first.ended;
      ids.push(lastId(first));
    }
    const resumed = await session.get(ids[0]);
    await resumed.text();
    expect(summary(resumed)).toEqual(['a=-31006']);
    if (era === 'legacy')
      await expect.poll(() => upstream.requestsFor('notifications/cancelled').length).toBe(1);
    else await expect.poll(() => upstream.requestsFor('tools/call')[0]?.ended).toBe('dropped');
    expect(upstream.requestsFor('tools/call')[1]?.ended).toBeUndefined();
  });

  test('X21 calls whose clients go before their answers begin count as detached too', async () => {
    const silent = closing(await startScript(era, () => undefined, { tools: [scriptedTool('t')] }));
    const gateway = closing(await startGateway(silent.url, { limits: { detachedPerPrincipal: 2 } }));
    const session = await openWireSession(gateway.url);
    for (const label of ['a', 'b', 'c', 'd', 'e']) {
      const abort = new AbortController();
      const sent = fetch(gateway.url, {
        method: 'POST',
        headers: {
          ...session.headers,
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: label,
          method: 'tools/call',
          params: { name: 't', arguments: { label } },
        }),
        signal: abort.signal,
      }).catch(() => undefined);
      const before = silent.requestsFor('tools/call').length;
      await expect.poll(() => silent.requestsFor('tools/call').length).toBe(before + 1);
      abort.abort();
      await sent;
    }
    if (era === 'legacy') {
      await expect.poll(() => silent.requestsFor('notifications/cancelled').length).toBe(3);
    } else {
      await expect
        .poll(() => silent.requestsFor('tools/call').filter(({ ended }) => ended === 'dropped').length)
        .toBe(3);
    }
  });

  test('C8 an id with a place this stream never had: 400', async () => {
    const { EventIds } = await import('../../src/replay/event-id.js');
    const { gateway, call } = await startDriven(era);
    const session = await openWireSession(gateway.url);
    const [first, running] = await call(session, 'p');
    running.progress(1);
    await first.next();
    const id = lastId(first);
    const [epoch = '', stream = ''] = id.split('.');
    const ids = new EventIds(epoch);
    const forged = (number: number, sequence: number) => ids.print({ stream: number, sequence });
    const number = parseInt(stream, 36);
    expect((await session.get(forged(number, 99))).status).toBe(400);
    expect((await session.get(forged(number + 1, 0))).status).toBe(400);
    expect((await session.get(new EventIds('otherrun').print({ stream: number, sequence: 1 }))).status).toBe(
      400,
    );
    running.finish();
    await first.text();
  });
});

describe('X24 X26 the standalone stream', () => {
  test('X26 interrupted after every change: each once, in order, and nothing while it is attached elsewhere', async () => {
    const { gateway, streams } = await startDriven('legacy');
    let session = await openWireSession(gateway.url);
    let stream = await session.get();
    await expect.poll(() => streams.length).toBe(1);
    const sent: string[] = [];
    const got: string[] = [];
    for (let i = 0; i < 6; i++) {
      const method = `notifications/${['tools', 'prompts', 'resources'][i % 3] ?? ''}/list_changed`;
      streams[0]?.send({ jsonrpc: '2.0', method });
      sent.push(method);
      await stream.next();
      got.push(...summary(stream));
      stream.close();
      session = restarted(session);
      stream = closing(await session.get(lastId(stream)));
    }
    expect(got).toEqual(sent);
  });

  test('X26 a new GET without an id gets what nobody was sent, and ends the older one', async () => {
    const { gateway, streams } = await startDriven('legacy');
    const session = await openWireSession(gateway.url);
    const first = await session.get();
    await expect.poll(() => streams.length).toBe(1);
    streams[0]?.send(TOOLS_CHANGED);
    await first.next();
    const second = await session.get();
    expect(await first.ended).toBe('finished');
    second.close();
    await second.ended;
    await session.call('ping');
    streams[0]?.send({ jsonrpc: '2.0', method: 'notifications/prompts/list_changed' });
    const third = closing(await session.get());
    expect((await third.nextMessage()).method).toBe('notifications/prompts/list_changed');
    expect(summary(second)).toEqual([]);
    expect(summary(third)).toHaveLength(1);
  });

  test('X26 an expired id of the own GET stream: 200, and one change notification per advertised kind', async () => {
    const { gateway, streams } = await startDriven('legacy', {
      config: { replay: { maxAgeMs: 50 } },
      capabilities: { tools: { listChanged: true }, prompts: {}, resources: { subscribe: true } },
    });
    const session = await openWireSession(gateway.url);
    await session.call('resources/subscribe', { uri: 'test://a' });
    await session.call('resources/subscribe', { uri: 'test://b' });
    await session.call('resources/unsubscribe', { uri: 'test://b' });
    const stream = await session.get();
    await expect.poll(() => streams.length).toBe(1);
    streams[0]?.send(TOOLS_CHANGED);
    await stream.next();
    stream.close();
    await stream.ended;
    const missed = { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'test://a' } };
    streams[0]?.send(missed);
    streams[0]?.send(TOOLS_CHANGED);
    await new Promise((resolve) => setTimeout(resolve, 120));
    const resumed = closing(await session.get(lastId(stream)));
    expect(resumed.status).toBe(200);
    await resumed.next();
    await resumed.next();
    streams[0]?.send(TOOLS_CHANGED);
    await resumed.next();
    expect(summary(resumed)).toEqual([TOOLS_CHANGED.method, 'updated test://a', TOOLS_CHANGED.method]);
    // From there on it is a stream like any other.
    const again = closing(await session.get(lastId(resumed)));
    streams[0]?.send(TOOLS_CHANGED);
    await again.next();
    expect(summary(again)).toEqual([TOOLS_CHANGED.method]);
  });

  test('X26 an id of the own GET stream with nothing missed, however old: nothing is told', async () => {
    const { gateway, streams } = await startDriven('legacy', { config: { replay: { maxAgeMs: 30 } } });
    const session = await openWireSession(gateway.url);
    const stream = await session.get();
    await expect.poll(() => streams.length).toBe(1);
    streams[0]?.send(TOOLS_CHANGED);
    await stream.next();
    stream.close();
    await stream.ended;
    await new Promise((resolve) => setTimeout(resolve, 100));
    const resumed = closing(await session.get(lastId(stream)));
    streams[0]?.send({ jsonrpc: '2.0', method: 'notifications/prompts/list_changed' });
    await resumed.next();
    expect(summary(resumed)).toEqual(['notifications/prompts/list_changed']);
  });
});

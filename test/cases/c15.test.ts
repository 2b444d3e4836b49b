import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { ERAS, startPeer, startScript } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { connectLegacyClient } from '../peers/legacy-client.js';
import { startLegacyServer } from '../peers/legacy-server.js';
import { connectModernClient } from '../peers/modern-client.js';
import type { CancelledNotice, PeerLog, SeenRequest, ToolRun } from '../peers/peer-log.js';
import {
  type Script,
  answer,
  answerResult,
  answerRpcError,
  discoverResult,
  openStream,
  progressFor,
  resultText,
} from '../peers/scripted-server.js';
import { modernText, openWireSession, postModern } from '../peers/wire-client.js';

/** 100 ms are promised; a machine that does three other things at once may need a second try. */
const RETRIED = { retry: 2 };

/** A call that runs for `ms` and says so every 20 ms. */
const slow = (label: string, ms: number): Record<string, unknown> => ({
  name: 'probe_slow',
  arguments: { ms, tickMs: 20, label },
});

const withToken = (params: Record<string, unknown>) => ({ ...params, _meta: { progressToken: 'p' } });

/** The next event of that name whose subject is the call with that label. */
async function nextRun(log: PeerLog, event: 'run' | 'aborted' | 'finished', label: string): Promise<ToolRun> {
  for (;;) {
    const [run] = (await once(log, event)) as [ToolRun];
    if ((run.args as { label?: string }).label === label) return run;
  }
}

describe.each(ERAS)('C15 a legacy client that closes, %s upstream', (era) => {
  async function started() {
    const upstream = closing(await startPeer(era));
    const gateway = closing(await startGateway(upstream.url));
    return { upstream, gateway, session: await openWireSession(gateway.url) };
  }

  test('C15 closing the POST socket cancels nothing: the upstream call runs to its end', async () => {
    const { upstream, session } = await started();
    const response = await session.request(1, 'tools/call', withToken(slow('a', 300)));
    const { id } = await response.next();
    const finished = nextRun(upstream.log, 'finished', 'a');
    response.close();
    await finished;
    expect(upstream.aborted).toEqual([]);
    expect(upstream.cancelled).toEqual([]);
    const post = upstream.requestsFor('tools/call')[0];
    if (post?.ended === undefined) await once(upstream.log, 'ended');
    expect(post?.ended).toBe('finished');
    const resumed = await session.get(id);
    await resumed.text();
    expect(resumed.messages.at(-1)).toMatchObject({
      id: 1,
      result: { content: [{ text: 'done a after 15 ticks' }] },
    });
  });

  test('C15 nor does closing it before any byte of the answer', async () => {
    const { upstream, session } = await started();
    const running = nextRun(upstream.log, 'run', 'b');
    const finished = nextRun(upstream.log, 'finished', 'b');
    const abort = new AbortController();
    const post = fetch(session.url, {
      method: 'POST',
      signal: abort.signal,
      headers: {
        ...session.headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: slow('b', 200) }),
    });
    const settled = expect(post.then((response) => response.text())).rejects.toThrow();
    await running;
    abort.abort();
    await settled;
    await finished;
    expect(upstream.aborted).toEqual([]);
    expect(upstream.cancelled).toEqual([]);
  });

  test(
    'C15 notifications/cancelled ends the upstream call within 100 ms, and the stream without a response',
    RETRIED,
    async () => {
      const { upstream, session } = await started();
      const running = nextRun(upstream.log, 'run', 'a');
      const response = await session.request('call', 'tools/call', withToken(slow('a', 10_000)));
      await response.next();
      const { requestId } = await running;
      const aborted = nextRun(upstream.log, 'aborted', 'a');
      const begin = performance.now();
      const accepted = await session.notify('notifications/cancelled', {
        requestId: 'call',
        reason: 'enough',
      });
      expect(accepted.status).toBe(202);
      expect((await aborted).requestId).toBe(requestId);
      expect(performance.now() - begin).toBeLessThan(100);
      await response.text();
      expect(response.messages.filter((message) => message.id !== undefined)).toEqual([]);
      expect(upstream.log.finished).toEqual([]);
      // A modern upstream is told by closing its stream, a legacy one by its own id.
      expect(upstream.cancelled.map((notice) => notice.requestId)).toEqual(
        era === 'legacy' ? [requestId] : [],
      );
    },
  );

  test('C15 cancelling one of two leaves the other alone; ids are compared with their type', async () => {
    const { upstream, session } = await started();
    const runs = Promise.all(['a', 'b'].map((label) => nextRun(upstream.log, 'run', label)));
    const first = await session.request(1, 'tools/call', withToken(slow('a', 400)));
    const second = await session.request('1', 'tools/call', withToken(slow('b', 10_000)));
    await runs;
    const aborted = nextRun(upstream.log, 'aborted', 'b');
    for (const requestId of [true, null, '2', 2, {}])
      await session.notify('notifications/cancelled', { requestId });
    await session.notify('notifications/cancelled', { requestId: '1' });
    await aborted;
    await second.text();
    expect((await first.rpc()).result.content[0].text).toContain('done a');
    expect(upstream.aborted.map(({ args }) => (args as { label: string }).label)).toEqual(['b']);
  });

  test('C15 a cancellation of what has ended, or never was, is accepted and ignored', async () => {
    const { upstream, session } = await started();
    await session.call('tools/call', { name: 'test_simple_text' }, 5);
    for (const requestId of [5, 6]) {
      expect((await session.notify('notifications/cancelled', { requestId })).status).toBe(202);
    }
    expect((await session.call('tools/list', {}, 5)).status).toBe(200);
    expect(upstream.cancelled).toEqual([]);
  });

  test('C15 the end of the session ends what runs in it', async () => {
    const { upstream, session } = await started();
    const response = await session.request(9, 'tools/call', withToken(slow('a', 10_000)));
    await response.next();
    const aborted = nextRun(upstream.log, 'aborted', 'a');
    await session.delete();
    await aborted;
    expect(await response.rpc()).toMatchObject({ id: 9, error: { code: -31011 } });
  });

  test('C15 the SDK client: abort cancels upstream', async () => {
    const { upstream, gateway } = await started();
    const { client } = closing(await connectLegacyClient(gateway.url));
    const abort = new AbortController();
    const call = client.callTool(slow('s', 10_000) as any, undefined, { signal: abort.signal });
    const settled = expect(call).rejects.toThrow();
    await nextRun(upstream.log, 'run', 's');
    const aborted = nextRun(upstream.log, 'aborted', 's');
    abort.abort('stop');
    await aborted;
    await settled;
  });
});

describe('C15 a modern client that closes, legacy upstream', () => {
  test(
    'C15 the upstream is told with its own id, on its session, while another call runs in it',
    RETRIED,
    async () => {
      const upstream = closing(await startLegacyServer());
      const gateway = closing(await startGateway(upstream.url));
      const runs = Promise.all(['a', 'b'].map((label) => nextRun(upstream.log, 'run', label)));
      const post = (id: string, label: string, ms: number) =>
        postModern(gateway.url, modernText(id, 'tools/call', slow(label, ms), { progressToken: id }));
      const other = post('same', 'b', 600);
      const response = await post('same', 'a', 10_000);
      await response.next();
      const [run, otherRun] = await runs;
      const cancelled = once(upstream.log, 'cancelled') as Promise<[CancelledNotice]>;
      const aborted = nextRun(upstream.log, 'aborted', 'a');
      const begin = performance.now();
      response.close();
      const [notice] = await cancelled;
      expect(performance.now() - begin).toBeLessThan(100);
      expect(notice).toMatchObject({ requestId: run?.requestId, sessionId: run?.sessionId });
      expect(run?.sessionId).toBe(otherRun?.sessionId);
      await aborted;
      expect((await (await other).rpc()).result.content[0].text).toContain('done b');
      expect(upstream.cancelled).toHaveLength(1);
      expect(upstream.aborted).toHaveLength(1);
    },
  );

  test.each<[string, Script]>([
    ['before the upstream answers at all', () => undefined],
    ['while a stream is open without an event', (_, res) => void openStream(res)],
    [
      'while half of a JSON body is here',
      (request, res) => {
        res.writeHead(200, { 'content-type': 'application/json' });
        res.write(resultText(request).slice(0, 10));
      },
    ],
  ])('C15 closed %s: the upstream is told all the same', async (_, respond) => {
    const upstream = closing(await startScript('legacy', respond));
    // The answer is committed at once, so that there is something to close.
    const gateway = closing(await startGateway(upstream.url, { timeouts: { streamCommitMs: 1 } }));
    const cancelled = once(upstream.log, 'cancelled') as Promise<[CancelledNotice]>;
    const response = await postModern(gateway.url, modernText('mine', 'tools/call', { name: 't' }));
    await expect.poll(() => upstream.requestsFor('tools/call').length).toBe(1);
    response.close();
    const [notice] = await cancelled;
    const [call] = upstream.requestsFor('tools/call');
    expect(notice.requestId).toBe(call?.message.id);
    expect(notice.requestId).not.toBe('mine');
    expect(notice.sessionId).toBe('session-1');
    const [post] = upstream.requestsFor('notifications/cancelled');
    expect(post?.headers['mcp-protocol-version']).toBe('2025-11-25');
  });

  test('C15 closing after the response tells nobody', async () => {
    const upstream = closing(await startScript('legacy', (request, res) => answerResult(res, request)));
    const gateway = closing(await startGateway(upstream.url));
    const response = await postModern(gateway.url, modernText(1, 'tools/call', { name: 't' }));
    await response.text();
    response.close();
    await (await postModern(gateway.url, modernText(2, 'tools/call', { name: 't' }))).text();
    expect(upstream.cancelled).toEqual([]);
  });

  test('C15 an initialize is never cancelled', async () => {
    let initialize: SeenRequest | undefined;
    let finish = (): void => undefined;
    const upstream = closing(
      await startScript('legacy', (request, res) => answerResult(res, request, { content: [] }), {
        initialize: (request, res) => {
          initialize = request;
          finish = () => {
            const result = {
              protocolVersion: '2025-11-25',
              capabilities: {},
              serverInfo: { name: 'u', version: '1' },
            };
            answerResult(res, request, result, { 'mcp-session-id': 'late' });
          };
        },
      }),
    );
    const gateway = closing(await startGateway(upstream.url, { timeouts: { streamCommitMs: 1 } }));
    const first = await postModern(gateway.url, modernText(1, 'tools/call', { name: 't' }));
    if (initialize === undefined) await expect.poll(() => initialize).toBeDefined();
    first.close();
    await first.ended;
    finish();
    const second = await postModern(gateway.url, modernText(2, 'tools/call', { name: 't' }));
    expect((await second.rpc()).result.content).toEqual([]);
    expect(upstream.cancelled).toEqual([]);
    expect(upstream.requestsFor('initialize')).toHaveLength(1);
    // What was cancelled before there was a session to send it on was never sent.
    expect(upstream.requestsFor('tools/call')).toHaveLength(1);
  });

  test.each(ERAS)(
    'C15 closed while the era of the upstream is being found out: never sent, %s',
    async (era) => {
      let probe: (() => void) | undefined;
      const upstream = closing(
        await startScript(era, (request, res) => answerResult(res, request, { resultType: 'complete' }), {
          discover: (request, res) => {
            probe = () =>
              era === 'modern'
                ? answerResult(res, request, discoverResult({ tools: {} }))
                : answerRpcError(res, request, 200, -32601);
          },
        }),
      );
      const gateway = closing(await startGateway(upstream.url, { timeouts: { streamCommitMs: 1 } }));
      const first = await postModern(gateway.url, modernText(1, 'tools/call', { name: 'first' }));
      await expect.poll(() => probe).toBeDefined();
      first.close();
      await first.ended;
      probe?.();
      const second = await postModern(gateway.url, modernText(2, 'tools/call', { name: 'second' }));
      expect((await second.rpc()).result).toBeDefined();
      const called = upstream.requestsFor('tools/call').map(({ message }) => message.params.name);
      expect(called).toEqual(['second']);
      expect(upstream.cancelled).toEqual([]);
    },
  );

  test('C15 a result that comes after the cancellation is dropped, and the session is still good', async () => {
    const open: { request: SeenRequest; finish: () => void; progress: () => void }[] = [];
    const upstream = closing(
      await startScript('legacy', (request, res) => {
        const stream = openStream(res);
        open.push({
          request,
          progress: () => stream.send(progressFor(request, 1)),
          finish: () => {
            stream.send(resultText(request, { content: [] }));
            stream.end();
          },
        });
      }),
    );
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    const response = await session.request(1, 'tools/call', withToken({ name: 't' }));
    open[0]?.progress();
    await response.next();
    const cancelled = once(upstream.log, 'cancelled');
    await session.notify('notifications/cancelled', { requestId: 1 });
    await cancelled;
    open[0]?.finish();
    await response.text();
    expect(response.messages.map(({ method }) => method)).toEqual(['notifications/progress']);
    const next = session.call('tools/call', { name: 't' }, 1);
    await expect.poll(() => open.length).toBe(2);
    open[1]?.finish();
    expect((await next).message).toMatchObject({ id: 1, result: {} });
  });

  test('C15 the SDK client: abort cancels upstream', async () => {
    const upstream = closing(await startLegacyServer());
    const gateway = closing(await startGateway(upstream.url));
    const { client } = closing(await connectModernClient(gateway.url));
    const abort = new AbortController();
    const call = client.callTool(slow('s', 10_000) as any, { signal: abort.signal });
    const settled = expect(call).rejects.toThrow();
    await nextRun(upstream.log, 'run', 's');
    const aborted = nextRun(upstream.log, 'aborted', 's');
    abort.abort('stop');
    expect((await aborted).requestId).toBe(upstream.cancelled[0]?.requestId);
    await settled;
  });
});

test('C15 a modern client that closes, modern upstream: its stream is closed, and nothing is posted', async () => {
  const upstream = closing(await startPeer('modern'));
  const gateway = closing(await startGateway(upstream.url));
  const response = await postModern(
    gateway.url,
    modernText(1, 'tools/call', slow('a', 10_000), { progressToken: 1 }),
  );
  await response.next();
  const aborted = nextRun(upstream.log, 'aborted', 'a');
  response.close();
  await aborted;
  expect(upstream.cancelled).toEqual([]);
});

test('C15 a cancellation does not queue behind the call it should cancel', async () => {
  // This upstream answers one request at a time on a connection, and never answers the call.
  const upstream = closing(
    await startScript('legacy', () => undefined, { notification: (_, res) => answer(res, 202, '', {}) }),
  );
  const gateway = closing(await startGateway(upstream.url));
  const session = await openWireSession(gateway.url);
  const call = session.request(1, 'tools/call', { name: 't' });
  await expect.poll(() => upstream.requestsFor('tools/call').length).toBe(1);
  const cancelled = once(upstream.log, 'cancelled');
  await session.notify('notifications/cancelled', { requestId: 1 });
  await cancelled;
  expect(await (await call).text()).not.toContain('"id"');
});

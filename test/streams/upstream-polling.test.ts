import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { ERAS } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { startLegacyServer } from '../peers/legacy-server.js';
import type { SeenRequest } from '../peers/peer-log.js';
import type { RawResponse } from '../peers/raw-client.js';
import {
  type Script,
  type ScriptedStream,
  answer,
  answerRpcError,
  answerResult,
  legacyScript,
  openStream,
  progressFor,
  resultText,
  startScriptedServer,
} from '../peers/scripted-server.js';
import {
  KEY,
  callModern,
  modernText,
  openWireClient,
  openWireSession,
  postModern,
} from '../peers/wire-client.js';
import { ALL_CHANGES, TOOLS_CHANGED, summary } from './driven-upstream.js';

const RESULT = { content: [{ type: 'text', text: 'done' }] };

/** A legacy upstream that serves no discover, one call by `call`, and GET by `get`. */
async function started(call: Script, get?: Script) {
  const upstream = closing(
    await startScriptedServer(legacyScript(call, { capabilities: ALL_CHANGES, ...(get && { get }) })),
  );
  const gateway = closing(await startGateway(upstream.url));
  return { upstream, gateway };
}

function resumes(upstream: { requests: SeenRequest[] }): SeenRequest[] {
  return upstream.requests.filter(({ headers }) => headers['last-event-id'] !== undefined);
}

const CALL = { name: 't' };
const PROGRESS = { meta: { progressToken: 'p' } };

describe.each(ERAS)('X26 the gateway as a polling client, for a %s client', (era) => {
  test('X26 an id without data is a place to resume from, and retry is obeyed', async () => {
    let call: SeenRequest | undefined;
    let closedAt = 0;
    const { upstream, gateway } = await started(
      (request, res) => {
        call = request;
        const stream = openStream(res);
        stream.raw('id: prime-1\nretry: 300\ndata:\n\n');
        stream.end();
        closedAt = performance.now();
      },
      (_, res) => {
        if (call === undefined) throw new Error('resumed before the call');
        const stream = openStream(res);
        stream.send(progressFor(call, 1), 'e-2');
        stream.send(resultText(call, RESULT), 'e-3');
        stream.end();
      },
    );
    const client = await openWireClient(era, gateway.url);
    const response = await client.request(1, 'tools/call', CALL, PROGRESS);
    expect((await response.rpc()).result.content[0].text).toBe('done');
    expect(summary(response)[0]).toBe('p:1');
    const [resume] = resumes(upstream);
    expect(resume?.headers['last-event-id']).toBe('prime-1');
    expect(resume?.headers['mcp-session-id']).toBe('session-1');
    expect((resume?.at ?? 0) - closedAt).toBeGreaterThanOrEqual(290);
    expect(resumes(upstream)).toHaveLength(1);
    expect(upstream.requestsFor('tools/call')).toHaveLength(1);
  });

  test('X26 an id in a block without any data line moves the place too', async () => {
    let call: SeenRequest | undefined;
    const { upstream, gateway } = await started(
      (request, res) => {
        call = request;
        const stream = openStream(res);
        stream.raw('id: a\n\n');
        stream.send(progressFor(request, 1), 'b');
        stream.raw('id: c\n\n');
        stream.end();
      },
      (_, res) => {
        if (call !== undefined) openStream(res).send(resultText(call, RESULT), 'd');
      },
    );
    const client = await openWireClient(era, gateway.url);
    await client.call('tools/call', CALL, PROGRESS);
    expect(resumes(upstream).map(({ headers }) => headers['last-event-id'])).toEqual(['c']);
  });

  test('X26 resumes that bring nothing keep their token, and come ever more slowly', async () => {
    let call: SeenRequest | undefined;
    let gets = 0;
    const { upstream, gateway } = await started(
      (request, res) => {
        call = request;
        const stream = openStream(res);
        stream.raw('id: prime\ndata:\n\n');
        stream.end();
      },
      (_, res) => {
        gets++;
        const stream = openStream(res);
        if (gets === 4 && call !== undefined) stream.send(resultText(call, RESULT), 'end');
        stream.end();
      },
    );
    const client = await openWireClient(era, gateway.url);
    const { message } = await client.call('tools/call', CALL, PROGRESS);
    expect(message.result.content[0].text).toBe('done');
    const times = resumes(upstream).map(({ at }) => at);
    expect(resumes(upstream).map(({ headers }) => headers['last-event-id'])).toEqual(Array(4).fill('prime'));
    const waits = times.slice(1).map((at, i) => at - (times[i] ?? 0));
    // Each wait is drawn from the upper half of a window that doubles: 500, 1000, 2000 ms.
    expect(waits[0]).toBeGreaterThanOrEqual(240);
    expect(waits[1]).toBeGreaterThanOrEqual(490);
    expect(waits[2]).toBeGreaterThanOrEqual(990);
    expect(waits[2]).toBeLessThan(2600);
  });

  test('X26 a retry of a thousand years does not spin', async () => {
    const { upstream, gateway } = await started(
      (_, res) => {
        const stream = openStream(res);
        stream.raw('id: prime\nretry: 31536000000000\ndata:\n\n');
        stream.end();
      },
      (_, res) => openStream(res).end(),
    );
    const client = await openWireClient(era, gateway.url);
    void client.request(1, 'tools/call', CALL, PROGRESS).catch(() => undefined);
    await expect.poll(() => upstream.requestsFor('tools/call')[0]?.ended).toBe('finished');
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(resumes(upstream)).toEqual([]);
  });

  test('X26 what an upstream replays a second time reaches nobody a second time', async () => {
    let call: SeenRequest | undefined;
    const { gateway } = await started(
      (request, res) => {
        call = request;
        const stream = openStream(res);
        stream.send(progressFor(request, 1), 'e-1');
        stream.send(progressFor(request, 2), 'e-2');
        stream.end();
      },
      (_, res) => {
        if (call === undefined) return;
        const stream = openStream(res);
        // From the beginning, as some public event stores do.
        stream.send(progressFor(call, 1), 'e-1');
        stream.send(progressFor(call, 2), 'e-2');
        stream.send(progressFor(call, 3), 'e-3');
        stream.send(resultText(call, RESULT), 'e-4');
        stream.end();
      },
    );
    const client = await openWireClient(era, gateway.url);
    const response = await client.request(1, 'tools/call', CALL, PROGRESS);
    await response.text();
    expect(summary(response)).toEqual(['p:1', 'p:2', 'p:3', '1=done']);
  });

  test('X26 a server that gives every event the same id loses no response by it', async () => {
    let call: SeenRequest | undefined;
    const { gateway } = await started(
      (request, res) => {
        call = request;
        const stream = openStream(res);
        stream.send(progressFor(request, 1), '0');
        stream.send(progressFor(request, 2), '0');
        stream.end();
      },
      (_, res) => {
        if (call !== undefined) openStream(res).send(resultText(call, RESULT), '0');
      },
    );
    const client = await openWireClient(era, gateway.url);
    const response = await client.request(1, 'tools/call', CALL, PROGRESS);
    expect((await response.rpc()).result).toBeDefined();
    expect(summary(response)).toEqual(['p:1', 'p:2', '1=done']);
  });

  test('C20 X26 a stream that ends without response and without ids: outcome unknown, sent once', async () => {
    const { upstream, gateway } = await started((request, res) => {
      const stream = openStream(res);
      stream.send(progressFor(request, 1));
      stream.end();
    });
    const client = await openWireClient(era, gateway.url);
    const response = await client.request(1, 'tools/call', CALL, PROGRESS);
    expect((await response.rpc()).error).toMatchObject({ code: -31003 });
    expect(upstream.requestsFor('tools/call')).toHaveLength(1);
    expect(resumes(upstream)).toEqual([]);
  });

  test('X26 a resume that is refused: outcome unknown, a tool is not run again', async () => {
    const { upstream, gateway } = await started(
      (_, res) => {
        const stream = openStream(res);
        stream.raw('id: prime\ndata:\n\n');
        stream.end();
      },
      (_, res) => answer(res, 405, '', { allow: 'POST' }),
    );
    const client = await openWireClient(era, gateway.url);
    const { message } = await client.call('tools/call', CALL, PROGRESS);
    expect(message.error.code).toBe(-31003);
    expect(upstream.requestsFor('tools/call')).toHaveLength(1);
    expect(resumes(upstream)).toHaveLength(1);
  });

  test('C20 X26 a list whose stream broke is asked for once more, and no more than that', async () => {
    let broken = 1;
    const { upstream, gateway } = await started((request, res) => {
      if (broken-- > 0) openStream(res).cut();
      else answerResult(res, request, { tools: [] });
    });
    const client = await openWireClient(era, gateway.url);
    expect((await client.call('tools/list')).message.result.tools).toEqual([]);
    expect(upstream.requestsFor('tools/list')).toHaveLength(2);
    broken = 9;
    expect((await client.call('tools/list')).message.error.code).toBe(-31003);
    expect(upstream.requestsFor('tools/list')).toHaveLength(4);
  });
});

describe('X26 sessions the upstream forgets', () => {
  test('X26 20 parallel calls of a modern client: one initialize, every call answered once', async () => {
    const upstream = closing(await startLegacyServer());
    const gateway = closing(await startGateway(upstream.url));
    await callModern(gateway.url, 'tools/list');
    expect(upstream.sessionsCreated).toBe(1);
    await upstream.forgetSessions();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        callModern(
          gateway.url,
          'tools/call',
          { name: 'probe_echo', arguments: { value: i } },
          { id: i, meta: { [KEY.logLevel]: 'debug' } },
        ),
      ),
    );
    expect(answers.map(({ message }) => JSON.parse(message.result.content[0].text).value)).toEqual(
      Array.from({ length: 20 }, (_, i) => i),
    );
    expect(upstream.sessionsCreated).toBe(2);
    expect(upstream.requestsFor('initialize')).toHaveLength(2);
    expect(upstream.log.runs).toHaveLength(20);
  });

  test('X26 GET stream, subscriptions and log level come back with the new session', async () => {
    const upstream = closing(await startLegacyServer());
    const gateway = closing(await startGateway(upstream.url));
    const log = { meta: { [KEY.logLevel]: 'warning' } };
    const run = (id: number) =>
      postModern(
        gateway.url,
        modernText(id, 'tools/call', { name: 'probe_log' }, { [KEY.logLevel]: 'warning' }),
      );
    await callModern(gateway.url, 'tools/list', {}, log);
    const filter = { toolsListChanged: true, resourceSubscriptions: ['test://watched-resource'] };
    const listen = closing(
      await postModern(gateway.url, modernText('l', 'subscriptions/listen', { notifications: filter })),
    );
    expect((await listen.nextMessage()).params.notifications).toEqual(filter);
    await (await run(1)).text();
    await upstream.forgetSessions();
    await (await run(2)).text();
    await expect.poll(() => [...upstream.sessions.values()][0]?.subscriptions.size).toBe(1);
    const [session] = upstream.sessions.values();
    expect(session?.logLevel).toBe('warning');
    // The changes that may have been missed are told first.
    const told = [await listen.nextMessage(), await listen.nextMessage()].map(({ method }) => method);
    expect(new Set(told)).toEqual(
      new Set(['notifications/tools/list_changed', 'notifications/resources/updated']),
    );
    const seen = listen.messages.length;
    await upstream.announce({ uri: 'test://watched-resource' });
    await expect.poll(() => listen.messages.length).toBeGreaterThan(seen);
    expect(upstream.requestsFor('initialize')).toHaveLength(2);
  });

  test('X26 a watch on a session forgotten long before is not answered with nothing', async () => {
    const upstream = closing(await startLegacyServer());
    const gateway = closing(await startGateway(upstream.url));
    await callModern(gateway.url, 'tools/list');
    await upstream.forgetSessions();
    const filter = { toolsListChanged: true, resourceSubscriptions: ['test://watched-resource'] };
    const listen = closing(
      await postModern(gateway.url, modernText('l', 'subscriptions/listen', { notifications: filter })),
    );
    expect((await listen.nextMessage()).params.notifications).toEqual(filter);
  });

  test("X26 a legacy client's own session ends with 404, and its running calls are answered", async () => {
    const upstream = closing(await startLegacyServer());
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    await upstream.forgetSessions();
    const { status, message } = await session.call('tools/list');
    expect([status, message.error.code]).toEqual([404, -31011]);
    expect((await session.get()).status).toBe(404);
    expect(upstream.requestsFor('initialize')).toHaveLength(1);
  });

  test('X26 a resume answered 404: unknown for the tool, and the next call gets a new session', async () => {
    let sessionGone = false;
    const { upstream, gateway } = await started(
      (request, res) => {
        if (sessionGone && request.headers['mcp-session-id'] === 'session-1') {
          answer(res, 404, {
            jsonrpc: '2.0',
            id: null,
            error: { code: -32001, message: 'Session not found' },
          });
          return;
        }
        if (request.method !== 'tools/call') {
          answerResult(res, request, { tools: [] });
          return;
        }
        const stream = openStream(res);
        stream.raw('id: prime\ndata:\n\n');
        stream.end();
        sessionGone = true;
      },
      (_, res) => answer(res, 404, { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'gone' } }),
    );
    const client = await openWireClient('modern', gateway.url);
    expect((await client.call('tools/call', CALL, PROGRESS)).message.error.code).toBe(-31003);
    expect((await client.call('tools/list')).message.result.tools).toEqual([]);
    expect(upstream.requestsFor('initialize')).toHaveLength(2);
  });

  test('X26 a server that loses a list on the way and the session with it still gives the list', async () => {
    let first = true;
    const { upstream, gateway } = await started((request, res) => {
      if (first) {
        first = false;
        openStream(res).cut();
      } else if (request.headers['mcp-session-id'] === 'session-1') {
        answer(res, 404, { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } });
      } else {
        answerResult(res, request, { tools: [] });
      }
    });
    const client = await openWireClient('modern', gateway.url);
    expect((await client.call('tools/list')).message.result.tools).toEqual([]);
    expect(upstream.requestsFor('initialize')).toHaveLength(2);
  });

  test('C6 X26 a server that forgets every session at once: an error, no loop', async () => {
    const { upstream, gateway } = await started((_, res) => answer(res, 404, '', {}));
    const client = await openWireClient('modern', gateway.url);
    expect((await client.call('tools/list')).message.error.code).toBe(-31002);
    expect(upstream.requestsFor('initialize')).toHaveLength(2);
  });
});

describe('X26 the standalone stream of the upstream', () => {
  /** A modern listener over a GET stream that the test drives. */
  async function listening(get: (request: SeenRequest, stream: ScriptedStream, number: number) => void) {
    const gets: SeenRequest[] = [];
    const { upstream, gateway } = await started(
      (request, res) => answerResult(res, request),
      (request, res) => {
        gets.push(request);
        get(request, openStream(res), gets.length);
      },
    );
    const body = modernText('l', 'subscriptions/listen', { notifications: { toolsListChanged: true } });
    const listen: RawResponse = closing(await postModern(gateway.url, body));
    expect((await listen.nextMessage()).params.notifications).toEqual({ toolsListChanged: true });
    return { upstream, gateway, gets, listen };
  }

  test('X26 resumed with its last id, its events once each, retry obeyed', async () => {
    const at: number[] = [];
    const { gets, listen } = await listening((_, stream, number) => {
      at.push(performance.now());
      if (number === 1) {
        stream.raw('retry: 400\n\n');
        stream.send(TOOLS_CHANGED, 'g-1');
        stream.end();
      } else {
        stream.send(TOOLS_CHANGED, 'g-1');
      }
    });
    expect((await listen.nextMessage()).method).toBe(TOOLS_CHANGED.method);
    await expect.poll(() => gets.length).toBe(2);
    expect(gets[1]?.headers['last-event-id']).toBe('g-1');
    expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(390);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(summary(listen)).toEqual(['notifications/subscriptions/acknowledged', TOOLS_CHANGED.method]);
  });

  test('X24 broken without ids to resume from: what may have been missed is told', async () => {
    const { gets, listen } = await listening((_, stream, number) => {
      if (number === 1) stream.raw(': hello\n\n');
      if (number === 1) setTimeout(() => stream.cut(), 50);
    });
    await expect.poll(() => gets.length).toBe(2);
    expect(gets[1]?.headers['last-event-id']).toBeUndefined();
    expect((await listen.nextMessage()).method).toBe(TOOLS_CHANGED.method);
  });

  test('X26 an id the upstream does not know any more: a new stream, not the end of all', async () => {
    let streams = 0;
    const upstream = closing(
      await startScriptedServer(
        legacyScript((request, res) => answerResult(res, request), {
          capabilities: ALL_CHANGES,
          get: (request, res) => {
            streams++;
            if (request.headers['last-event-id'] !== undefined) {
              answerRpcError(res, { ...request, message: {} }, 400, -32600, 'unknown event id');
              return;
            }
            const stream = openStream(res);
            stream.send(TOOLS_CHANGED, `s-${streams}`);
            if (streams === 1) stream.end();
          },
        }),
      ),
    );
    const gateway = closing(await startGateway(upstream.url));
    const body = modernText('l', 'subscriptions/listen', { notifications: { toolsListChanged: true } });
    const listen = closing(await postModern(gateway.url, body));
    await expect.poll(() => streams, { timeout: 5000 }).toBe(3);
    await expect.poll(() => listen.messages.length).toBeGreaterThanOrEqual(3);
  });

  test('X26 405: no stream, no error, not asked again', async () => {
    const upstream = closing(
      await startScriptedServer(
        legacyScript((request, res) => answerResult(res, request, { tools: [] }), {
          capabilities: ALL_CHANGES,
        }),
      ),
    );
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    const got = once(upstream.log, 'request');
    const stream = closing(await session.get());
    await got;
    expect(stream.status).toBe(200);
    expect((await session.call('tools/list')).message.result.tools).toEqual([]);
    expect(stream.isOver).toBe(false);
    const again = closing(await session.get());
    await again.next(({ comment }) => comment !== undefined);
    await session.call('tools/list');
    expect(upstream.requests.filter(({ httpMethod }) => httpMethod === 'GET')).toHaveLength(1);
  });

  test('X26 opened and closed again and again by the upstream: ever more slowly', async () => {
    const { gets } = await listening((_, stream) => stream.end());
    await expect.poll(() => gets.length, { timeout: 5000 }).toBe(3);
    const waits = gets.slice(1).map(({ at }, i) => at - (gets[i]?.at ?? 0));
    expect(waits[0]).toBeGreaterThanOrEqual(240);
    expect(waits[1]).toBeGreaterThanOrEqual(490);
  });
});

import { describe, expect, it } from 'vitest';
import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import { Cap } from '../../../src/http/cap.js';
import { Concurrency } from '../../../src/http/concurrency.js';
import { POST_HEADERS, RawConnection, requestText } from './raw-connection.js';
import { ask, keepWaiting, startApp, testOptions, type Call, type StartedApp } from './started-app.js';

const REQUEST = '{"jsonrpc":"2.0","id":1,"method":"tools/call"}';
const CANCEL = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}';
const ANSWER = '{"jsonrpc":"2.0","id":1,"result":{}}';

async function hold(app: StartedApp, count: number, headers: Record<string, string> = {}): Promise<Call[]> {
  const held: Call[] = [];
  for (let index = 0; index < count; index += 1) {
    const next = app.nextCall();
    void ask(app, 'POST', '/mcp', { body: REQUEST, headers }).catch(() => undefined);
    held.push(await next);
  }
  return held;
}

function limits(overrides: object) {
  return { ...testOptions().limits, concurrentRequests: 4, concurrentPerPrincipal: 2, ...overrides };
}

function codeOf(action: () => unknown): number {
  try {
    action();
    return 0;
  } catch (error) {
    return error instanceof GatewayError ? error.status : -1;
  }
}

describe('requests in progress', () => {
  it('are capped overall: 503 with Retry-After, and a place that is free again serves', async () => {
    const app = await startApp({ serve: keepWaiting, limits: { concurrentRequests: 3 } });
    const held = await hold(app, 3);
    const { status, headers, json } = await ask(app, 'POST', '/mcp', { body: REQUEST });
    expect([status, headers['retry-after'], json.error.code]).toEqual([503, '7', GATEWAY_CODE.overloaded]);
    held[0]!.reply.json(200, '{}');
    const [next] = await hold(app, 1);
    expect(next?.request.body).toBe(REQUEST);
  });

  it('are capped for one principal: 429, while others are served', async () => {
    const app = await startApp({
      serve: keepWaiting,
      limits: { concurrentPerPrincipal: 2 },
      principalKey: ({ headers }) => headers['authorization'],
    });
    await hold(app, 2, { authorization: 'a' });
    const refused = await ask(app, 'POST', '/mcp', { body: REQUEST, headers: { authorization: 'a' } });
    expect([refused.status, refused.headers['retry-after'], refused.json.error.code]).toEqual([
      429,
      '7',
      GATEWAY_CODE.overloaded,
    ]);
    expect(await hold(app, 2, { authorization: 'b' })).toHaveLength(2);
    // Without a principal the address counts, and it is not the name of one.
    expect(await hold(app, 2)).toHaveLength(2);
    expect((await ask(app, 'POST', '/mcp', { body: REQUEST })).status).toBe(429);
  });

  it('leave room for what is no request: answers and cancellations', async () => {
    const app = await startApp({ serve: keepWaiting, limits: { concurrentRequests: 2 } });
    await hold(app, 2);
    for (const body of [CANCEL, ANSWER]) {
      const next = app.nextCall();
      const answer = ask(app, 'POST', '/mcp', { body });
      (await next).reply.empty(202);
      expect((await answer).status).toBe(202);
    }
    const next = app.nextCall();
    const answer = ask(app, 'DELETE');
    (await next).reply.empty(204);
    expect((await answer).status).toBe(204);
    expect((await ask(app, 'POST', '/mcp', { body: REQUEST })).status).toBe(503);
  });

  it('leave no unbounded room for it', async () => {
    const app = await startApp({ serve: keepWaiting, limits: { concurrentRequests: 2 } });
    await hold(app, 2);
    for (let index = 0; index < 2; index += 1) {
      const next = app.nextCall();
      void ask(app, 'POST', '/mcp', { body: CANCEL }).catch(() => undefined);
      await next;
    }
    expect((await ask(app, 'POST', '/mcp', { body: CANCEL })).status).toBe(503);
  });

  it('count while their body arrives', async () => {
    const app = await startApp({ limits: { concurrentRequests: 1 } });
    for (let index = 0; index < 2; index += 1) {
      const raw = await RawConnection.open(app.port);
      raw.send(requestText('POST', '/mcp', [...POST_HEADERS, 'Expect: 100-continue', 'Content-Length: 9']));
      await raw.until(/100 Continue/);
    }
    expect((await ask(app, 'POST', '/mcp', { body: REQUEST })).status).toBe(503);
  });

  it('are given back when the client goes away', async () => {
    const app = await startApp({ serve: keepWaiting, limits: { concurrentRequests: 1 } });
    for (let round = 0; round < 20; round += 1) {
      const raw = await RawConnection.open(app.port);
      const next = app.nextCall();
      raw.send(requestText('POST', '/mcp', POST_HEADERS, REQUEST));
      await next;
      const idle = new Promise<void>((resolve) => app.app.running.onIdle(resolve));
      raw.socket.destroy();
      await idle;
    }
    expect(app.calls).toHaveLength(20);
  });
});

describe('long-lived streams', () => {
  it('have a cap of their own and leave the requests alone', async () => {
    const app = await startApp({ limits: { maxStreams: 3, concurrentRequests: 2 } });
    const open: RawConnection[] = [];
    for (let index = 0; index < 3; index += 1) {
      const raw = await RawConnection.open(app.port);
      await raw.send(requestText('GET', '/mcp', [])).until(/:\n\n/);
      open.push(raw);
    }
    const { status, headers, json } = await ask(app, 'GET');
    expect([status, headers['retry-after'], json.error.code]).toEqual([503, '7', GATEWAY_CODE.overloaded]);
    expect((await ask(app, 'POST', '/mcp', { body: REQUEST })).status).toBe(200);
    const closed = new Promise<void>((resolve) => app.calls[0]!.reply.onClose(resolve));
    open[0]!.socket.destroy();
    await closed;
    const raw = await RawConnection.open(app.port);
    await raw.send(requestText('GET', '/mcp', [])).until(/:\n\n/);
  });

  it('may be POST requests, if the core says so', async () => {
    const app = await startApp({
      limits: { maxStreams: 2, concurrentRequests: 1 },
      opensStream: ({ headers }) => headers['mcp-method'] === 'subscriptions/listen',
      serve: async (_upstream, _request, reply) => void reply.stream(),
    });
    for (let index = 0; index < 2; index += 1) {
      const raw = await RawConnection.open(app.port);
      const head = [...POST_HEADERS, 'Mcp-Method: subscriptions/listen'];
      await raw.send(requestText('POST', '/mcp', head, REQUEST)).until(/:\n\n/);
    }
    const refused = await ask(app, 'POST', '/mcp', {
      body: REQUEST,
      headers: { 'mcp-method': 'subscriptions/listen' },
    });
    expect(refused.status).toBe(503);
    const raw = await RawConnection.open(app.port);
    await raw.send(requestText('POST', '/mcp', POST_HEADERS, REQUEST)).until(/:\n\n/);
  });

  it('are shared out among principals as requests are', () => {
    const concurrency = new Concurrency(limits({ maxStreams: 8 }));
    for (let index = 0; index < 4; index += 1) concurrency.enter('a', true).run('');
    expect(codeOf(() => concurrency.enter('a', true).run(''))).toBe(429);
    for (let index = 0; index < 4; index += 1) concurrency.enter('b', true).run('');
    expect(codeOf(() => concurrency.enter('c', true).run(''))).toBe(503);
  });

  it('are eight for each request when no number is set', () => {
    const concurrency = new Concurrency(limits({ concurrentPerPrincipal: 4 }));
    for (let index = 0; index < 32; index += 1) concurrency.enter('a', true).run('');
    expect(codeOf(() => concurrency.enter('b', true).run(''))).toBe(503);
  });
});

describe('Concurrency', () => {
  it('takes no place for a request that is over already', () => {
    const concurrency = new Concurrency(limits({}));
    for (let index = 0; index < 10; index += 1) {
      const slot = concurrency.enter('a', index % 2 === 0);
      slot.release();
      slot.run(REQUEST);
    }
    concurrency.enter('a', false).run(REQUEST);
    concurrency.enter('a', false).run(REQUEST);
    expect(codeOf(() => concurrency.enter('a', false).run(REQUEST))).toBe(429);
  });

  it('takes every place back once, however often it is given', () => {
    const concurrency = new Concurrency(limits({}));
    const slots = [concurrency.enter('a', false), concurrency.enter('a', false)];
    for (const slot of slots) slot.run(REQUEST);
    for (let again = 0; again < 3; again += 1) slots[0]!.release();
    concurrency.enter('a', false).run(REQUEST);
    expect(codeOf(() => concurrency.enter('a', false).run(REQUEST))).toBe(429);
  });

  it('gives everything back when running is refused', () => {
    const concurrency = new Concurrency(limits({}));
    const running = [concurrency.enter('a', false), concurrency.enter('a', false)];
    for (const slot of running) slot.run(REQUEST);
    for (let index = 0; index < 10; index += 1) {
      const slot = concurrency.enter('a', false);
      expect(codeOf(() => slot.run(REQUEST))).toBe(429);
      slot.release();
    }
    running[0]!.release();
    concurrency.enter('a', false).run(REQUEST);
  });
});

describe('Cap', () => {
  it('forgets keys that have no place', () => {
    const cap = new Cap('things', 10, 2);
    for (const key of ['a', 'a', 'b']) cap.take(key);
    expect([cap.taken, cap.full('a'), cap.full('b')]).toEqual([3, 'key', undefined]);
    for (const key of ['a', 'a', 'b']) cap.release(key);
    expect([cap.taken, cap.full('a')]).toEqual([0, undefined]);
  });
});

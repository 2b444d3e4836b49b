import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { startLegacyServer } from '../peers/legacy-server.js';
import { startModernServer } from '../peers/modern-server.js';
import { KEY, modernHeaders, modernMeta, postModern } from '../peers/wire-client.js';
import { DrivenServer } from './driven-server.js';
import { ALL_CAPABILITIES, type LegOptions, answers, asked, postLeg, runLeg } from './legs.js';
import { ACCEPT, form } from './rounds.js';

const NAME = 'probe_elicit_form';
const REFUSED = { status: 400, message: { error: { code: -32602 } } };

/** A real legacy peer behind a gateway, and one call of it parked. */
async function parked(config: Record<string, unknown> = {}, options: LegOptions = {}) {
  const upstream = closing(await startLegacyServer());
  const gateway = closing(await startGateway(upstream.url, config));
  const request = { name: NAME, arguments: { label: 'mine' }, ...options };
  const { state, keys } = asked((await runLeg(gateway.url, request)).message);
  const retry = (changes: LegOptions = {}, url = gateway.url) =>
    runLeg(url, { ...request, requestState: state, inputResponses: answers(keys, ACCEPT), ...changes });
  return { upstream, gateway, state, keys, retry };
}

/** A retry as a client prints it that spells its arguments in its own way. */
function spelled(url: string, args: string, state: string, key: string) {
  const meta = JSON.stringify(modernMeta({ [KEY.clientCapabilities]: ALL_CAPABILITIES }));
  const params = `{"name":"ask","arguments":${args},"requestState":${JSON.stringify(state)},"inputResponses":{${JSON.stringify(key)}:${JSON.stringify(ACCEPT)}},"_meta":${meta}}`;
  const body = `{"jsonrpc":"2.0","id":99,"method":"tools/call","params":${params}}`;
  return postModern(url, body, modernHeaders(body));
}

describe('requestState is good for one retry of the same request by the same principal', () => {
  test('X16 used properly it resumes the call, which ran once', async () => {
    const { upstream, retry, gateway } = await parked();
    expect((await retry()).message.result.content[0].text).toContain('Ada');
    expect(upstream.log.runs).toHaveLength(1);
    expect(gateway.activity()).toMatchObject({ parked: 0, questions: 0 });
  });

  test.each([
    ['one character changed', (state: string) => `${state.slice(0, -1)}${state.endsWith('A') ? 'B' : 'A'}`],
    ['one character too many', (state: string) => `${state}A`],
    ['truncated', (state: string) => state.slice(0, -1)],
    ['truncated to its beginning', (state: string) => state.slice(0, 20)],
    ['empty', () => ''],
    ['a number', () => 7],
    ['null', () => null],
    ['an object', (state: string) => ({ state })],
    ['made up', () => 'gangway.AAAAAAAA.AAAAAAAAAAAAAAAAAAAAAAAAAAA'],
  ])('X16 %s: -32602, nothing runs, and the true one stays good', async (_, misuse) => {
    const { upstream, retry, state } = await parked();
    expect(await retry({ requestState: misuse(state) })).toMatchObject(REFUSED);
    expect(upstream.log.runs).toHaveLength(1);
    expect((await retry()).message.result.content[0].text).toContain('Ada');
    expect(upstream.log.runs).toHaveLength(1);
  });

  test('X16 another principal is answered exactly as for an unknown one', async () => {
    const mine = { headers: { authorization: 'Bearer mine' } };
    const { upstream, retry, state } = await parked({}, mine);
    const unknown = await retry({ id: 5, requestState: `${state.slice(0, -2)}zz` });
    for (const headers of [{ authorization: 'Bearer theirs' }, {}]) {
      expect(await retry({ id: 5, headers })).toEqual(unknown);
    }
    expect(upstream.log.runs).toHaveLength(1);
    expect((await retry()).message.result.content[0].text).toContain('Ada');
  });

  test.each<[string, LegOptions]>([
    ['other arguments', { arguments: { label: 'theirs' } }],
    ['an argument more', { arguments: { label: 'mine', more: null } }],
    ['an argument less', { arguments: {} }],
    ['another tool', { name: 'probe_sample' }],
  ])('X16 %s: -32602, nothing runs, and the request itself may still be retried', async (_, changes) => {
    const { upstream, retry } = await parked();
    expect(await retry(changes)).toMatchObject(REFUSED);
    expect(upstream.log.runs).toHaveLength(1);
    expect((await retry()).message.result.content[0].text).toContain('Ada');
  });

  test('X16 another method: -32602', async () => {
    const { gateway, upstream, state } = await parked();
    const meta = modernMeta({ [KEY.clientCapabilities]: ALL_CAPABILITIES });
    for (const [method, params] of [
      ['prompts/get', { name: NAME }],
      ['resources/read', { uri: 'test://static-text' }],
      ['tools/list', {}],
    ] as const) {
      const body = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method,
        params: { ...params, requestState: state, _meta: meta },
      });
      const response = await postModern(gateway.url, body);
      expect(await response.rpc()).toMatchObject({ error: { code: -32602 } });
    }
    expect(upstream.log.runs).toHaveLength(1);
  });

  test('X16 another upstream of the same gateway: -32602', async () => {
    const [a, b] = [closing(await startLegacyServer()), closing(await startLegacyServer())];
    const { createGateway } = await import('../../src/gateway.js');
    const gateway = closing(
      await createGateway({
        logging: { level: 'silent' },
        listen: { host: '127.0.0.1', port: 0 },
        upstreams: { a: { url: a.url }, b: { url: b.url } },
      } as never),
    );
    const { origin } = new URL(gateway.url);
    const request = { name: NAME, arguments: { label: 'mine' } };
    const { state, keys } = asked((await runLeg(`${origin}/a`, request)).message);
    const retry = { ...request, requestState: state, inputResponses: answers(keys, ACCEPT) };
    expect(await runLeg(`${origin}/b`, retry)).toMatchObject(REFUSED);
    expect(b.log.runs).toHaveLength(0);
    expect((await runLeg(`${origin}/a`, retry)).message.result.content[0].text).toContain('Ada');
  });

  test('X16 used twice at once: exactly one wins, and the tool runs once', async () => {
    const { upstream, retry } = await parked();
    const all = await Promise.all(Array.from({ length: 8 }, () => retry()));
    expect(all.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(7).fill(400)]);
    expect(upstream.log.runs).toHaveLength(1);
    expect(upstream.log.finished).toHaveLength(1);
  });

  test('X16 replayed after use: -32602, nothing runs', async () => {
    const { upstream, retry } = await parked();
    await retry();
    expect(await retry()).toMatchObject(REFUSED);
    expect(upstream.log.runs).toHaveLength(1);
  });

  test('X16 an earlier round is used up by its retry', async () => {
    const upstream = closing(await startLegacyServer());
    const gateway = closing(await startGateway(upstream.url));
    const request = { name: 'probe_two_rounds' };
    const first = asked((await runLeg(gateway.url, request)).message);
    const again = { ...request, requestState: first.state, inputResponses: answers(first.keys, ACCEPT) };
    const second = asked((await runLeg(gateway.url, again)).message);
    expect(await runLeg(gateway.url, again)).toMatchObject(REFUSED);
    // Keys of an earlier round mean nothing in a later one.
    const stale = { ...again, requestState: second.state };
    expect(asked((await runLeg(gateway.url, stale)).message).keys).toEqual(second.keys);
    expect(upstream.log.runs).toHaveLength(1);
  });

  test('X20 expired: -32602, and the upstream was told to stop', async () => {
    const { upstream, retry, gateway } = await parked({ timeouts: { parkMs: 200 } });
    await once(upstream.log, 'aborted');
    expect(upstream.cancelled).toMatchObject([{ requestId: upstream.log.runs[0]?.requestId }]);
    expect(await retry()).toMatchObject(REFUSED);
    expect(upstream.log.runs).toHaveLength(1);
    expect(gateway.activity()).toMatchObject({ parked: 0, questions: 0 });
  });

  test('X20 coming back without an answer gives no new time to answer', async () => {
    const upstream = closing(await startLegacyServer());
    const gateway = closing(await startGateway(upstream.url, { timeouts: { parkMs: 600 } }));
    const request = { name: NAME, arguments: { label: 'mine' } };
    const expired = once(upstream.log, 'aborted').then(() => 'expired' as const);
    const start = performance.now();
    let { state } = asked((await runLeg(gateway.url, request)).message);
    for (let round = 0; round < 100; round++) {
      const leg = runLeg(gateway.url, { ...request, requestState: state });
      if ((await Promise.race([leg, expired])) === 'expired') break;
      const { message } = await leg;
      if (message.error !== undefined) break;
      ({ state } = asked(message));
    }
    await expired;
    expect(performance.now() - start).toBeLessThan(5000);
    expect(upstream.log.runs).toHaveLength(1);
  });

  test('X16 from before a restart, and from another gateway: -32602, nothing runs', async () => {
    const { upstream, retry, gateway } = await parked();
    const other = closing(await startGateway(upstream.url));
    expect(await retry({}, other.url)).toMatchObject(REFUSED);
    const aborted = once(upstream.log, 'aborted');
    await gateway.close();
    await aborted;
    const restarted = closing(await startGateway(upstream.url));
    expect(await retry({}, restarted.url)).toMatchObject(REFUSED);
    expect(upstream.log.runs).toHaveLength(1);
  });

  test("X16 over a modern upstream the state is the upstream's own business", async () => {
    const upstream = closing(await startModernServer());
    const gateway = closing(await startGateway(upstream.url));
    const name = 'test_input_required_result_tampered_state';
    const { state, keys } = asked((await runLeg(gateway.url, { name })).message);
    const retry = { name, inputResponses: answers(keys, { action: 'accept', content: { ok: true } }) };
    const tampered = await runLeg(gateway.url, { ...retry, requestState: `${state}x` });
    expect(tampered.message.error).toBeDefined();
    const { message } = await runLeg(gateway.url, { ...retry, requestState: state });
    expect(message.result.content[0].text).toBe('state-ok');
    expect(gateway.activity().parked).toBe(0);
  });
});

describe('the same request, spelled in another way', () => {
  const ORIGINAL = '{"a":1.0,"b":{"c":[1,"é"],"d":null},"__proto__":2}';

  /** A call with exactly these arguments, parked. */
  async function spelledCall() {
    const upstream = closing(await DrivenServer.start());
    const gateway = closing(await startGateway(upstream.url));
    const meta = JSON.stringify(modernMeta({ [KEY.clientCapabilities]: ALL_CAPABILITIES }));
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":${ORIGINAL},"_meta":${meta}}}`;
    const leg = postModern(gateway.url, body);
    const call = await upstream.call();
    call.ask(1, form('one'));
    const { state, keys } = asked(await (await leg).rpc());
    return { upstream, call, retry: (args: string) => spelled(gateway.url, args, state, keys[0] ?? '') };
  }

  test.each([
    ['white space', '{ "a" : 1.0 ,\t"b":{"c":[ 1 , "é" ],"d":null},"__proto__":2 }'],
    ['key order', '{"__proto__":2,"b":{"d":null,"c":[1,"é"]},"a":1.0}'],
    ['escapes', '{"\\u0061":1.0,"b":{"c":[1,"\\u00e9"],"d":null},"__proto__":2}'],
  ])('X16 %s does not matter', async (_, args) => {
    const { upstream, call, retry } = await spelledCall();
    const response = retry(args);
    expect(await upstream.answerTo(1)).toMatchObject({ result: ACCEPT });
    call.finish();
    expect((await (await response).rpc()).result.content[0].text).toBe('done');
    expect(upstream.calls).toHaveLength(1);
  });

  test.each([
    ['1.0 is not 1', ORIGINAL.replace('1.0', '1')],
    ['1.0 is not 10e-1', ORIGINAL.replace('1.0', '10e-1')],
    ['1 is not "1"', ORIGINAL.replace('[1,', '["1",')],
    ['null is not absent', ORIGINAL.replace(',"d":null', '')],
    ['the order of an array matters', ORIGINAL.replace('[1,"é"]', '["é",1]')],
    ['an own __proto__ counts', ORIGINAL.replace('"__proto__":2', '"__proto__":3')],
  ])('X16 %s', async (_, args) => {
    const { upstream, retry } = await spelledCall();
    const response = await retry(args);
    expect(response.status).toBe(400);
    expect(await response.rpc()).toMatchObject({ error: { code: -32602 } });
    expect(upstream.calls).toHaveLength(1);
  });
});

describe('parked calls are bounded per principal', () => {
  const bearer = (name: string) => ({ headers: { authorization: `Bearer ${name}` } });

  test('X16 in number: 429, the call is cancelled upstream, and others have their own share', async () => {
    const upstream = closing(await startLegacyServer());
    const gateway = closing(await startGateway(upstream.url, { limits: { parkedPerPrincipal: 2 } }));
    const request = (label: string) => ({ name: NAME, arguments: { label }, ...bearer('a') });
    const first = asked((await runLeg(gateway.url, request('1'))).message);
    asked((await runLeg(gateway.url, request('2'))).message);
    const aborted = once(upstream.log, 'aborted');
    const third = await runLeg(gateway.url, request('3'));
    expect(third).toMatchObject({ status: 429, message: { error: { code: -31006 } } });
    await aborted;
    expect(upstream.aborted.map(({ args }) => args)).toEqual([{ label: '3' }]);
    asked((await runLeg(gateway.url, { ...request('4'), ...bearer('b') })).message);
    // One that is answered makes room.
    const done = await runLeg(gateway.url, {
      ...request('1'),
      requestState: first.state,
      inputResponses: answers(first.keys, ACCEPT),
    });
    expect(done.message.result.resultType).toBe('complete');
    asked((await runLeg(gateway.url, request('5'))).message);
    expect(gateway.activity().parked).toBe(3);
  });

  test('X16 in bytes: what is asked, what is said, and the result', async () => {
    const upstream = closing(await DrivenServer.start());
    const gateway = closing(
      await startGateway(upstream.url, { limits: { parkedBytesPerPrincipal: 20_000 } }),
    );
    const large = runLeg(gateway.url);
    (await upstream.call(0)).ask(1, form('x'.repeat(30_000)));
    expect(await large).toMatchObject({ status: 429, message: { error: { code: -31006 } } });

    const opening = runLeg(gateway.url, { token: 1 });
    const call = await upstream.call(1);
    call.ask(2, form('small'));
    const { state, keys } = asked((await opening).message);
    // More than may be kept: the oldest goes.
    for (let i = 1; i <= 10; i++) {
      call.stream.send({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: {
          progressToken: call.request.message.params._meta.progressToken,
          progress: i,
          message: 'x'.repeat(5000),
        },
      });
    }
    call.finish('y'.repeat(30_000));
    await upstream.until(() => call.request.ended === 'finished');
    const { message } = await runLeg(gateway.url, {
      requestState: state,
      inputResponses: answers(keys, ACCEPT),
    });
    expect(message.error).toMatchObject({ code: -31007 });
    expect(gateway.activity().parked).toBe(0);
  });

  test('X22 of what is said too much, the newest is kept', async () => {
    const upstream = closing(await DrivenServer.start());
    const gateway = closing(
      await startGateway(upstream.url, { limits: { parkedBytesPerPrincipal: 20_000 } }),
    );
    const opening = runLeg(gateway.url, { token: 1 });
    const call = await upstream.call();
    call.ask(2, form('small'));
    const { state, keys } = asked((await opening).message);
    for (let i = 1; i <= 500; i++) call.progress(i);
    call.finish();
    await upstream.until(() => call.request.ended === 'finished');
    const retry = { token: 1, requestState: state, inputResponses: answers(keys, ACCEPT) };
    const response = await postLeg(gateway.url, retry);
    await response.text();
    const progress: number[] = response.messages.flatMap(({ params }) => params?.progress ?? []);
    expect(progress.length).toBeLessThanOrEqual(200);
    expect(progress.at(-1)).toBe(500);
    expect(response.messages.at(-1).result.content[0].text).toBe('done');
  });
});

import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { startLegacyServer } from '../peers/legacy-server.js';
import { type ModernClientOptions, connectModernClient } from '../peers/modern-client.js';
import { agreeable } from '../peers/question-handlers.js';
import { answerRpcError, legacyScript, startScriptedServer } from '../peers/scripted-server.js';
import { DrivenServer } from './driven-server.js';
import { answers, asked, postLeg, runLeg } from './legs.js';
import { ACCEPT, SAMPLING, form, gate } from './rounds.js';

const SAMPLED = { role: 'assistant', model: 'm', content: { type: 'text', text: 'hi' } };
const ROOTS = { method: 'roots/list' };

/** A gateway in front of the real legacy peer, and a real modern client. */
async function started(options: ModernClientOptions = agreeable, config: Record<string, unknown> = {}) {
  const upstream = closing(await startLegacyServer());
  const gateway = closing(await startGateway(upstream.url, config));
  const { client } = closing(await connectModernClient(gateway.url, options));
  const call = async (name: string, args: Record<string, unknown> = {}): Promise<string> =>
    ((await client.callTool({ name, arguments: args })) as any).content[0].text;
  return { upstream, gateway, client, call };
}

/** A gateway in front of a legacy server driven from the test. */
async function driven(
  config: Record<string, unknown> = {},
  options: Parameters<typeof DrivenServer.start>[0] = {},
) {
  const upstream = closing(await DrivenServer.start(options));
  const gateway = closing(await startGateway(upstream.url, config));
  return { upstream, gateway, url: gateway.url };
}

describe('X16 live requests become input_required', () => {
  test.each([
    ['probe_elicit_form', { label: 'x' }, '{"action":"accept","content":{"name":"Ada"}}'],
    ['probe_sample', { prompt: 'x' }, '"text":"hi"'],
    ['probe_roots', {}, 'file:///root'],
    ['probe_two_rounds', {}, 'Ada / hi'],
    ['test_input_required_result_multiple_inputs', {}, 'hi Ada - 1 root(s) visible'],
  ])('X16 %s works for a client that answers by itself', async (tool, args, expected) => {
    const { call, upstream, gateway } = await started();
    expect(await call(tool, args)).toContain(expected);
    expect(upstream.log.runs).toHaveLength(1);
    expect(gateway.activity()).toMatchObject({ parked: 0, questions: 0 });
  });

  test('X16 questions asked together travel together, and the tool runs once', async () => {
    const { gateway, upstream } = await started();
    const name = 'test_input_required_result_multiple_inputs';
    const first = await runLeg(gateway.url, { name });
    const { state, keys, questions } = asked(first.message);
    expect(questions.map(({ method }) => method).sort()).toEqual([
      'elicitation/create',
      'roots/list',
      'sampling/createMessage',
    ]);
    const inputResponses = Object.fromEntries(
      keys.map((key, i) => [
        key,
        { 'elicitation/create': ACCEPT, 'sampling/createMessage': SAMPLED, 'roots/list': { roots: [] } }[
          questions[i].method as string
        ],
      ]),
    );
    const { message } = await runLeg(gateway.url, { name, requestState: state, inputResponses });
    expect(message.result).toMatchObject({
      resultType: 'complete',
      content: [{ text: 'hi Ada - 0 root(s) visible' }],
    });
    expect(upstream.log.runs).toHaveLength(1);
  });

  test('X16 missing answers are asked again, others ignored, and none is lost', async () => {
    const { upstream, url } = await driven();
    const leg = runLeg(url);
    const call = await upstream.call();
    call.ask(1, form('one'));
    call.ask('1', form('two'));
    const first = asked((await leg).message);
    expect(first.keys).toHaveLength(2);
    const again = asked(
      (
        await runLeg(url, {
          requestState: first.state,
          inputResponses: { [first.keys[1] ?? '']: ACCEPT, stranger: { any: 'thing' }, __proto__: null },
        })
      ).message,
    );
    expect(again.questions.map(({ params }) => params.message)).toEqual(['one']);
    expect(again.state).not.toBe(first.state);
    // The other answer is with the upstream already, under its own id.
    expect(await upstream.answerTo('1')).toMatchObject({ result: ACCEPT });
    expect(upstream.answers(1)).toEqual([]);
    const last = runLeg(url, {
      requestState: again.state,
      inputResponses: answers(again.keys, { action: 'decline' }),
    });
    expect(await upstream.answerTo(1)).toMatchObject({ result: { action: 'decline' } });
    call.finish();
    expect((await last).message.result.content[0].text).toBe('done');
  });

  test.each([
    ['no object', { inputResponses: [] }],
    ['an unknown action', { action: 'perhaps' }],
    ['content that is no object', { action: 'accept', content: 'Ada' }],
    ['a string', 'yes'],
  ])('X16 answers of the wrong shape, %s: -32602, and the handle stays good', async (_, answer) => {
    const { upstream, url } = await driven();
    const leg = runLeg(url);
    const call = await upstream.call();
    call.ask(1, form('one'));
    const { state, keys } = asked((await leg).message);
    const wrong =
      typeof answer === 'object' && 'inputResponses' in answer
        ? answer.inputResponses
        : answers(keys, answer);
    const refused = await runLeg(url, { requestState: state, inputResponses: wrong });
    expect(refused).toMatchObject({ status: 400, message: { error: { code: -32602 } } });
    expect(upstream.answers(1)).toEqual([]);
    const retry = runLeg(url, { requestState: state, inputResponses: answers(keys, ACCEPT) });
    expect(await upstream.answerTo(1)).toMatchObject({ result: ACCEPT });
    call.finish();
    expect((await retry).message.result.content[0].text).toBe('done');
  });

  test('X16 a withdrawn question disappears, and the outcome is kept for the retry', async () => {
    const { upstream, url, gateway } = await driven();
    const leg = runLeg(url);
    const call = await upstream.call();
    call.ask(1, form('one'));
    const { state, keys } = asked((await leg).message);
    call.withdraw(1);
    call.finish('without you');
    await upstream.until(() => call.request.ended === 'finished');
    const retry = await runLeg(url, { requestState: state, inputResponses: answers(keys, ACCEPT) });
    expect(retry.message.result.content[0].text).toBe('without you');
    expect(upstream.answers(1)).toEqual([]);
    expect(gateway.activity()).toMatchObject({ parked: 0, questions: 0 });
  });

  test('X16 a question withdrawn before it was told is never told', async () => {
    const { upstream, url } = await driven();
    const leg = runLeg(url);
    const call = await upstream.call();
    call.ask(1, form('one'));
    call.withdraw(1);
    call.ask(2, form('two'));
    const { questions } = asked((await leg).message);
    expect(questions.map(({ params }) => params.message)).toEqual(['two']);
  });

  test('X16 a real server withdraws its question', async () => {
    const { gateway, upstream } = await started();
    const name = 'probe_withdraw';
    const args = { ms: 100 };
    const finished = once(upstream.log, 'finished');
    const { state, keys } = asked((await runLeg(gateway.url, { name, arguments: args })).message);
    await finished;
    const { message } = await runLeg(gateway.url, {
      name,
      arguments: args,
      requestState: state,
      inputResponses: answers(keys, ACCEPT),
    });
    expect(message.result.content[0].text).toBe('withdrawn');
    expect(upstream.log.runs).toHaveLength(1);
  });

  test('X16 question params cross without what belongs to one era', async () => {
    const { upstream, url } = await driven();
    const leg = runLeg(url);
    const call = await upstream.call();
    const params = { mode: 'url', message: 'm', url: 'https://example.com/', elicitationId: 'e' };
    call.ask(1, {
      method: 'elicitation/create',
      params: { ...params, task: { ttl: 1 }, _meta: { progressToken: 3, 'example.com/x': 1 } },
    });
    const { questions } = asked((await leg).message);
    expect(questions).toEqual([
      {
        method: 'elicitation/create',
        params: { mode: 'url', message: 'm', url: 'https://example.com/', _meta: { 'example.com/x': 1 } },
      },
    ]);
  });

  test('X16 100 calls are parked at once on one upstream session', async () => {
    const { gateway, upstream } = await started();
    const name = 'probe_elicit_form';
    const labels = Array.from({ length: 100 }, (_, i) => `call-${i}`);
    const parked = await Promise.all(
      labels.map(async (label) => asked((await runLeg(gateway.url, { name, arguments: { label } })).message)),
    );
    expect(gateway.activity()).toMatchObject({ parked: 100, questions: 100 });
    expect(upstream.log.runs).toHaveLength(100);
    const results = await Promise.all(
      parked.map(({ state, keys, questions }, i) => {
        expect(questions[0].params.message).toBe(`Probe form call-${i}`);
        return runLeg(gateway.url, {
          name,
          arguments: { label: labels[i] },
          requestState: state,
          inputResponses: answers(keys, { action: 'accept', content: { name: labels[i] } }),
        });
      }),
    );
    expect(results.map(({ message }) => JSON.parse(message.result.content[0].text).content.name)).toEqual(
      labels,
    );
    expect(gateway.activity()).toMatchObject({ parked: 0, questions: 0 });
    // One for this client's capabilities; the real client of this test has its own.
    expect(new Set(upstream.log.runs.map(({ sessionId }) => sessionId)).size).toBe(1);
    expect(upstream.log.runs).toHaveLength(100);
  });
});

describe('X22, X23 what a parked call says', () => {
  test('X22 progress grows over all legs, with the token of each leg', async () => {
    const { upstream, url } = await driven();
    const opening = postLeg(url, { token: 'first' });
    const call = await upstream.call();
    call.progress(1);
    const first = await opening;
    expect((await first.nextMessage()).params).toMatchObject({ progressToken: 'first', progress: 1 });
    call.ask(1, form('one'));
    const { state, keys } = asked(await first.rpc());
    call.progress(2);
    call.progress(2);
    call.progress(1);
    const reopening = postLeg(url, {
      token: 0,
      requestState: state,
      inputResponses: answers(keys, ACCEPT),
    });
    await upstream.answerTo(1);
    call.progress(3);
    call.finish();
    const second = await reopening;
    await second.text();
    expect(second.messages.map(({ params }) => params && [params.progressToken, params.progress])).toEqual([
      [0, 2],
      [0, 3],
      undefined,
    ]);
  });

  test('X22 a leg that wants no progress gets none', async () => {
    const { upstream, url } = await driven();
    const opening = postLeg(url, { token: 'first' });
    const call = await upstream.call();
    call.ask(1, form('one'));
    const { state, keys } = asked(await (await opening).rpc());
    call.progress(2);
    const reopening = postLeg(url, { requestState: state, inputResponses: answers(keys, ACCEPT) });
    await upstream.answerTo(1);
    call.progress(3);
    call.finish();
    const second = await reopening;
    expect((await second.rpc()).result).toBeDefined();
    expect(second.received).not.toContain('notifications/progress');
  });

  test('X23 log messages wait for the next leg, at the level that was asked for', async () => {
    const { upstream, url } = await driven({}, { capabilities: { tools: {}, logging: {} } });
    const opening = postLeg(url, { logLevel: 'warning' });
    const call = await upstream.call();
    call.ask(1, form('one'));
    const { state, keys } = asked(await (await opening).rpc());
    call.log('info', 'too quiet');
    call.log('error', 'first');
    call.log('warning', 'second');
    const reopening = postLeg(url, {
      logLevel: 'warning',
      requestState: state,
      inputResponses: answers(keys, ACCEPT),
    });
    await upstream.answerTo(1);
    call.log('error', 'third');
    call.finish();
    const second = await reopening;
    await second.text();
    expect(second.messages.map(({ params }) => params?.data)).toEqual([
      'first',
      'second',
      'third',
      undefined,
    ]);
  });
});

describe('X17 what the client did not declare', () => {
  test('X17 nothing sent yet: 400 -32021, the question is refused and the call cancelled', async () => {
    const { upstream, url, gateway } = await driven();
    const leg = runLeg(url, { capabilities: { elicitation: {} } });
    const call = await upstream.call();
    call.ask(1, SAMPLING);
    expect(await leg).toMatchObject({
      status: 400,
      message: { error: { code: -32021, data: { requiredCapabilities: { sampling: {} } } } },
    });
    const [notice] = await upstream.notifications('notifications/cancelled');
    expect(notice?.message.params.requestId).toBe(call.request.message.id);
    expect(await upstream.answerTo(1)).toMatchObject({ error: { code: -32601 } });
    expect(gateway.activity()).toMatchObject({ parked: 0, questions: 0 });
  });

  test('X17 something sent already: the question is refused and the call goes on', async () => {
    const { upstream, url } = await driven();
    const opening = postLeg(url, { capabilities: { elicitation: {} }, token: 1 });
    const call = await upstream.call();
    call.progress(1);
    const leg = await opening;
    call.ask(1, SAMPLING);
    expect(await upstream.answerTo(1)).toMatchObject({ error: { code: -32601 } });
    call.finish('without');
    expect((await leg.rpc()).result.content[0].text).toBe('without');
    expect(upstream.server.requestsFor('notifications/cancelled')).toEqual([]);
  });

  test('X17 a request nobody knows is refused, and the call goes on', async () => {
    const { upstream, url } = await driven();
    const leg = runLeg(url);
    const call = await upstream.call();
    call.ask(1, { method: 'vendor/ask', params: {} });
    expect(await upstream.answerTo(1)).toMatchObject({ error: { code: -32601 } });
    call.finish();
    expect((await leg).message.result.content[0].text).toBe('done');
  });

  test('X17 form, url, tools: each is declared by itself', async () => {
    const { upstream, url } = await driven();
    const leg = runLeg(url, { capabilities: { elicitation: { url: {} }, sampling: {} } });
    (await upstream.call()).ask(1, form('one'));
    expect((await leg).message.error.data).toEqual({ requiredCapabilities: { elicitation: { form: {} } } });
    const tools = runLeg(url, { capabilities: { elicitation: { url: {} }, sampling: {} } });
    const params = { ...SAMPLING.params, tools: [] };
    (await upstream.call(1)).ask(1, { ...SAMPLING, params });
    expect((await tools).message.error.data).toEqual({ requiredCapabilities: { sampling: { tools: {} } } });
  });

  test('X17 a mode of elicitation that was not declared is -32602 to the server', async () => {
    const { upstream, url } = await driven();
    const leg = runLeg(url, { capabilities: { elicitation: { form: {} } } });
    const call = await upstream.call();
    call.ask(1, {
      ...form('x'),
      params: { mode: 'url', message: 'x', url: 'https://a.example', elicitationId: 'e' },
    });
    expect(await upstream.answerTo(1)).toMatchObject({ error: { code: -32602 } });
    expect((await leg).message.error.code).toBe(-32021);
    await upstream.until(() => upstream.streams.length > 0);
    upstream.streams[0]?.send({
      jsonrpc: '2.0',
      id: 'd',
      method: 'elicitation/create',
      params: { mode: 'url' },
    });
    expect(await upstream.answerTo('d')).toMatchObject({ error: { code: -32602 } });
  });

  test('X17 -32042 towards a client without URL mode is -32021', async () => {
    const upstream = closing(
      await startScriptedServer(
        legacyScript((request, res) =>
          answerRpcError(res, request, 200, -32042, 'open it', {
            elicitations: [{ mode: 'url', elicitationId: 'e', url: 'https://example.com/', message: 'm' }],
          }),
        ),
      ),
    );
    const gateway = closing(await startGateway(upstream.url));
    expect(await runLeg(gateway.url, { capabilities: {} })).toMatchObject({
      status: 400,
      message: { error: { code: -32021, data: { requiredCapabilities: { elicitation: { url: {} } } } } },
    });
  });
});

describe('X18 URL elicitation', () => {
  test('X18 -32042 is a question, and completion releases the waiting retry', async () => {
    const { upstream, gateway } = await started();
    const name = 'probe_url_required';
    const args = { ms: 600 };
    const first = await runLeg(gateway.url, { name, arguments: args });
    const { state, keys, questions } = asked(first.message);
    expect(questions[0].params).toEqual({
      mode: 'url',
      url: 'https://example.com/authorize?x=required',
      message: 'Please authorize',
    });
    const { message } = await runLeg(gateway.url, {
      name,
      arguments: args,
      requestState: state,
      inputResponses: answers(keys, { action: 'accept' }),
    });
    expect(message.result.content[0].text).toBe('authorized');
    // Refused, tried at consent, and tried again on the news: nothing in between.
    expect(upstream.requestsFor('tools/call')).toHaveLength(3);
  });

  test('X18 without a standalone stream the call is tried again with pauses', async () => {
    let refusals = 3;
    const upstream = closing(
      await DrivenServer.start({
        stream: false,
      }),
    );
    const gateway = closing(await startGateway(upstream.url));
    const refuse = async (index: number) => {
      const call = await upstream.call(index);
      const data = {
        elicitations: [{ mode: 'url', elicitationId: 'e', url: 'https://e.org/', message: 'm' }],
      };
      const error = { code: -32042, message: 'open it', data };
      call.stream.send({ jsonrpc: '2.0', id: call.request.message.id, error });
      call.stream.end();
    };
    const leg = runLeg(gateway.url);
    await refuse(0);
    const { state, keys } = asked((await leg).message);
    const retry = runLeg(gateway.url, {
      requestState: state,
      inputResponses: answers(keys, { action: 'accept' }),
    });
    for (let index = 1; refusals-- > 1; index++) await refuse(index);
    (await upstream.call(3)).finish('authorized');
    expect((await retry).message.result.content[0].text).toBe('authorized');
  });

  test('X18 another URL is another question', async () => {
    const { upstream, url } = await driven();
    const refuse = async (index: number, at: string) => {
      const call = await upstream.call(index);
      const data = { elicitations: [{ mode: 'url', elicitationId: at, url: at, message: 'm' }] };
      const error = { code: -32042, message: 'open it', data };
      call.stream.send({ jsonrpc: '2.0', id: call.request.message.id, error });
      call.stream.end();
    };
    const leg = runLeg(url);
    await refuse(0, 'https://a.example/');
    const first = asked((await leg).message);
    const second = runLeg(url, {
      requestState: first.state,
      inputResponses: answers(first.keys, { action: 'accept' }),
    });
    await refuse(1, 'https://b.example/');
    expect(asked((await second).message).questions[0].params.url).toBe('https://b.example/');
  });

  test('X18 a declined URL ends the call with what the server said', async () => {
    const { gateway, upstream } = await started();
    const name = 'probe_url_required';
    const { state, keys } = asked((await runLeg(gateway.url, { name })).message);
    const { message } = await runLeg(gateway.url, {
      name,
      requestState: state,
      inputResponses: answers(keys, { action: 'decline' }),
    });
    expect(message.error).toMatchObject({ code: -32603, data: { upstreamError: { code: -32042 } } });
    expect(upstream.requestsFor('tools/call')).toHaveLength(1);
  });
});

describe('X29, X19 questions from outside any call', () => {
  test('X29 go to the one call in flight', async () => {
    const { call, upstream } = await started();
    expect(JSON.parse(await call('probe_ask_detached'))).toMatchObject(ACCEPT);
    expect(upstream.log.runs).toHaveLength(1);
  });

  test('X29 wait while two calls are in flight, and are refused after a while', async () => {
    const { upstream, url } = await driven({ timeouts: { questionMs: 300 } });
    const legs = [runLeg(url), runLeg(url)];
    const calls = [await upstream.call(0), await upstream.call(1)];
    await upstream.until(() => upstream.streams.length === 1);
    upstream.streams[0]?.send({ jsonrpc: '2.0', id: 'd', ...form('whose?') });
    expect(await upstream.answerTo('d')).toMatchObject({ error: { code: -31010 } });
    for (const call of calls) call.finish();
    for (const leg of legs) expect((await leg).message.result.resultType).toBe('complete');
  });

  test('X29 a question whose call ends first waits for the next one', async () => {
    const { upstream, url } = await driven();
    const first = runLeg(url);
    const call = await upstream.call(0);
    await upstream.until(() => upstream.streams.length === 1);
    upstream.streams[0]?.send({ jsonrpc: '2.0', id: 'd', ...form('anybody?') });
    const { state } = asked((await first).message);
    call.finish('over');
    await upstream.until(() => call.request.ended === 'finished');
    expect((await runLeg(url, { requestState: state })).message.result.content[0].text).toBe('over');
    const second = runLeg(url);
    const { state: next, keys } = asked((await second).message);
    const last = runLeg(url, { requestState: next, inputResponses: answers(keys, ACCEPT) });
    expect(await upstream.answerTo('d')).toMatchObject({ result: ACCEPT });
    (await upstream.call(1)).finish('done');
    expect((await last).message.result.content[0].text).toBe('done');
  });

  test('X29 what the client never declared is refused at once, and no call pays for it', async () => {
    const { upstream, url } = await driven();
    const leg = runLeg(url, { capabilities: { elicitation: {} } });
    const call = await upstream.call();
    await upstream.until(() => upstream.streams.length === 1);
    upstream.streams[0]?.send({ jsonrpc: '2.0', id: 'd', ...SAMPLING });
    expect(await upstream.answerTo('d')).toMatchObject({ error: { code: -32601 } });
    call.finish();
    expect((await leg).message.result.content[0].text).toBe('done');
  });

  test('X19 roots/list right after initialized reaches a client whose first request is tools/call', async () => {
    const opened = gate();
    const upstream = closing(
      await startLegacyServer({
        intercept: (seen) => {
          if (seen.httpMethod === 'GET') opened.open();
          return false;
        },
      }),
    );
    const gateway = closing(await startGateway(upstream.url));
    const { client } = closing(await connectModernClient(gateway.url, agreeable));
    const calling = client.callTool({ name: 'probe_slow', arguments: { ms: 1500 } });
    await opened.opened;
    const [session] = upstream.sessions.values();
    await expect(session?.server.listRoots()).resolves.toMatchObject({ roots: [{ uri: 'file:///root' }] });
    await expect(calling).resolves.toBeDefined();
  });

  test('X19 roots refused when nobody could be asked are offered at the next call', async () => {
    const { upstream, url } = await driven({ timeouts: { questionMs: 200 } });
    await upstream.until(() => true);
    const first = runLeg(url);
    (await upstream.call(0)).finish();
    await first;
    await upstream.until(() => upstream.streams.length === 1);
    upstream.streams[0]?.send({ jsonrpc: '2.0', id: 'r', ...ROOTS });
    expect(await upstream.answerTo('r')).toMatchObject({ error: { code: -31010 } });
    expect(upstream.server.requestsFor('notifications/roots/list_changed')).toEqual([]);
    const second = runLeg(url);
    await upstream.notifications('notifications/roots/list_changed');
    upstream.streams[0]?.send({ jsonrpc: '2.0', id: 'again', ...ROOTS });
    const { state, keys, questions } = asked((await second).message);
    expect(questions).toEqual([ROOTS]);
    const roots = { roots: [{ uri: 'file:///here' }] };
    const last = runLeg(url, { requestState: state, inputResponses: answers(keys, roots) });
    expect(await upstream.answerTo('again')).toMatchObject({ result: roots });
    (await upstream.call(1)).finish();
    await last;
    // Once is enough.
    const third = runLeg(url);
    (await upstream.call(2)).finish();
    await third;
    expect(upstream.server.requestsFor('notifications/roots/list_changed')).toHaveLength(1);
  });
});

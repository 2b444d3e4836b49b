import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { type LegacyClientOptions, connectLegacyClient } from '../peers/legacy-client.js';
import { startModernServer } from '../peers/modern-server.js';
import { agreeable } from '../peers/question-handlers.js';
import { openStream, resultText, startScriptedServer } from '../peers/scripted-server.js';
import { openWireSession } from '../peers/wire-client.js';
import {
  ACCEPT,
  DONE,
  type Round,
  SAMPLING,
  form,
  gate,
  inputRequiredText,
  nextQuestion,
  responseTo,
  roundsScript,
  url,
} from './rounds.js';

const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/** A gateway in front of the real modern peer, and a real legacy client. */
async function started(options: LegacyClientOptions = agreeable, config: Record<string, unknown> = {}) {
  const upstream = closing(await startModernServer());
  const gateway = closing(await startGateway(upstream.url, config));
  const { client, notifications } = closing(await connectLegacyClient(gateway.url, options));
  const call = async (name: string, args: Record<string, unknown> = {}): Promise<string> =>
    ((await client.callTool({ name, arguments: args })) as any).content[0].text;
  return { upstream, gateway, client, notifications, call };
}

/** A gateway in front of a scripted modern server, and a session spoken to in bytes. */
async function scripted(rounds: readonly Round[], config: Record<string, unknown> = {}) {
  const upstream = closing(await startScriptedServer(roundsScript(rounds)));
  const gateway = closing(await startGateway(upstream.url, config));
  const session = await openWireSession(gateway.url, { capabilities: CAPABILITIES });
  const call = (args: object = {}, id: string | number = 7) =>
    session.request(id, 'tools/call', { name: 'ask', arguments: args });
  const calls = () => upstream.requestsFor('tools/call');
  return { upstream, gateway, session, call, calls };
}

/** The member of a request's params as it stands in its body. */
function rawMember(body: string, key: string): string | undefined {
  return new RegExp(`"${key}":("(?:[^"\\\\]|\\\\.)*")`).exec(body)?.[1];
}

describe('X16 rounds of questions', () => {
  test('X16 several rounds reach real handlers as requests, one after the other', async () => {
    const { call, upstream } = await started();
    expect(await call('probe_two_rounds', { label: 'a' })).toBe('Ada / hi');
    const ids = upstream.requestsFor('tools/call').map(({ message }) => message.id);
    expect(ids).toHaveLength(3);
    expect(new Set(ids).size).toBe(3);
  });

  test('X16 prompts and resources may ask too', async () => {
    const { client } = await started();
    const { messages } = await client.getPrompt({ name: 'test_input_required_result_prompt' });
    expect(JSON.stringify(messages)).toContain('Context: accept');
  });

  test('X16 the questions of one round are asked in parallel', async () => {
    const all = gate();
    let open = 0;
    const meet = async <T>(value: T | Promise<T>): Promise<T> => {
      if (++open === 3) all.open();
      await all.opened;
      return value;
    };
    const { call } = await started({
      onElicit: (params) => meet(agreeable.onElicit(params)),
      onSample: (params) => meet(agreeable.onSample(params)),
      onRoots: () => meet(agreeable.onRoots()),
    });
    expect(await call('test_input_required_result_multiple_inputs')).toBe('hi Ada - 1 root(s) visible');
  });

  test('X16 keys and state go back byte for byte, this round only', async () => {
    const state = '"s\\u0074\\/ \\ud83d\\ude00 é\\""';
    const keys = ['__proto__', '0', '', 'q"\\\u00e9', 'constructor'];
    const questions = `{${keys.map((key) => `${JSON.stringify(key)}:${JSON.stringify(form(key))}`).join(',')}}`;
    const { session, call, calls } = await scripted([
      inputRequiredText(questions, state),
      inputRequiredText({ last: form('last') }),
      DONE,
    ]);
    const response = await call({ big: 1 });
    for (let i = 0; i <= keys.length; i++) {
      const question = await nextQuestion(response);
      await session.post(
        responseTo(question.id, { action: 'accept', content: { name: question.params.message } }),
      );
    }
    expect((await response.rpc()).result.content[0].text).toBe('done');
    const [first, second, third] = calls();
    expect(rawMember(first?.body ?? '', 'requestState')).toBeUndefined();
    expect(rawMember(second?.body ?? '', 'requestState')).toBe(state);
    const given = second?.message.params.inputResponses;
    expect(Object.keys(given).sort()).toEqual([...keys].sort());
    for (const key of keys) expect(Object.getOwnPropertyDescriptor(given, key)?.value.content.name).toBe(key);
    // The second round had no state, and the third request has none of the first.
    expect(Object.keys(third?.message.params)).not.toContain('requestState');
    expect(Object.keys(third?.message.params.inputResponses)).toEqual(['last']);
    expect(third?.message.params.arguments).toEqual({ big: 1 });
  });

  test('X16 state without questions is sent again, with growing pauses and no answers', async () => {
    const again = '{"resultType":"input_required","requestState":"later"}';
    const { call, calls } = await scripted([again, again, DONE]);
    expect((await (await call()).rpc()).result.content[0].text).toBe('done');
    const seen = calls();
    expect(seen.map(({ message }) => message.params.requestState)).toEqual([undefined, 'later', 'later']);
    for (const { message } of seen) expect(message.params).not.toHaveProperty('inputResponses');
    expect((seen[1]?.at ?? 0) - (seen[0]?.at ?? 0)).toBeGreaterThan(100);
    expect((seen[2]?.at ?? 0) - (seen[1]?.at ?? 0)).toBeGreaterThan(200);
  });

  test.each([
    ['decline', () => ({ action: 'decline' }), 'decline'],
    ['cancel', () => ({ action: 'cancel' }), 'cancel'],
    [
      'error',
      () => {
        throw new Error('no window');
      },
      'cancel',
    ],
  ])('X16 an elicitation answered with %s is an answer', async (_, onElicit, action) => {
    const { call } = await started({ onElicit });
    expect(JSON.parse(await call('probe_elicit_form', { label: 'x' }))).toEqual({ action });
  });

  test('X16 a sampling error ends the call with that error, without a retry', async () => {
    const onSample = () => {
      throw Object.assign(new Error('no model'), { code: -32099 });
    };
    const { client, upstream } = await started({ ...agreeable, onSample });
    await expect(client.callTool({ name: 'probe_sample', arguments: { prompt: 'x' } })).rejects.toMatchObject(
      { code: -32099, message: expect.stringContaining('no model') },
    );
    expect(upstream.requestsFor('tools/call')).toHaveLength(1);
  });

  test('X16 a sampling error takes back the questions beside it', async () => {
    const { session, call, gateway } = await scripted([
      inputRequiredText({ user: form('slow'), model: SAMPLING }),
      DONE,
    ]);
    const response = await call();
    const user = await nextQuestion(response);
    const model = await nextQuestion(response);
    await session.post(
      JSON.stringify({ jsonrpc: '2.0', id: model.id, error: { code: -1, message: 'no model' } }),
    );
    const withdrawn = await response.nextMessage();
    expect(withdrawn).toMatchObject({ method: 'notifications/cancelled', params: { requestId: user.id } });
    expect(await response.rpc()).toMatchObject({ id: 7, error: { code: -1, message: 'no model' } });
    expect(gateway.activity().questions).toBe(0);
  });

  test('X16 an answer of the wrong shape counts as an error', async () => {
    const { session, call, calls } = await scripted([
      inputRequiredText({ user: form('a') }),
      inputRequiredText({ model: SAMPLING }),
      DONE,
    ]);
    const response = await call();
    await session.post(responseTo((await nextQuestion(response)).id, { action: 'maybe' }));
    await session.post(responseTo((await nextQuestion(response)).id, { text: 'hi' }));
    expect((await response.rpc()).error).toMatchObject({ code: -31010 });
    expect(calls()[1]?.message.params.inputResponses).toEqual({ user: { action: 'cancel' } });
    expect(calls()).toHaveLength(2);
  });

  test('X16 answers are matched within their session, with the exact id, once', async () => {
    const { session, call, calls, gateway } = await scripted([inputRequiredText({ user: form('a') }), DONE]);
    const other = await openWireSession(gateway.url, { capabilities: CAPABILITIES });
    const response = await call();
    const { id } = await nextQuestion(response);
    for (const [from, given] of [
      [other, id],
      [session, String(id)],
      [session, Number(id) + 1],
    ] as const) {
      expect((await from.post(responseTo(given, ACCEPT))).status).toBe(202);
    }
    expect(calls()).toHaveLength(1);
    expect((await session.post(responseTo(id, ACCEPT))).status).toBe(202);
    expect((await session.post(responseTo(id, { action: 'decline' }))).status).toBe(202);
    await response.rpc();
    expect(calls()).toHaveLength(2);
    expect(calls()[1]?.message.params.inputResponses).toEqual({ user: ACCEPT });
  });

  test('X16 rounds are bounded', async () => {
    const { session, call, calls } = await scripted([inputRequiredText({ user: form('again') })], {
      limits: { rounds: 3 },
    });
    const response = await call();
    for (let round = 0; round < 3; round++) {
      await session.post(responseTo((await nextQuestion(response)).id, ACCEPT));
    }
    expect((await response.rpc()).error).toMatchObject({ code: -31009 });
    expect(calls()).toHaveLength(4);
  });

  test('X16 a question has a time, after which it is taken back and the call ends', async () => {
    const { call, calls, gateway } = await scripted([inputRequiredText({ user: form('anybody?') }), DONE], {
      timeouts: { questionMs: 150 },
    });
    const response = await call();
    const { id } = await nextQuestion(response);
    expect(await response.nextMessage()).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: id },
    });
    expect((await response.rpc()).error).toMatchObject({ code: -31010 });
    expect(calls()).toHaveLength(1);
    expect(gateway.activity()).toMatchObject({ questions: 0, upstreamRequests: 0 });
  });

  test('X16 all rounds together have a time, whatever is under way', async () => {
    const { call, gateway } = await scripted([inputRequiredText({ user: form('anybody?') }), DONE], {
      timeouts: { callMs: 200, callMaxMs: 200 },
    });
    const response = await call();
    await nextQuestion(response);
    expect((await response.rpc()).error).toMatchObject({ code: -31001 });
    expect(gateway.activity()).toMatchObject({ questions: 0, upstreamRequests: 0 });
  });

  test('X16 a client that reconnects meanwhile finds the question and the result', async () => {
    const ask = gate();
    const { session, call, calls } = await scripted([
      async (request, res) => {
        const stream = openStream(res);
        await ask.opened;
        stream.send(resultText(request, inputRequiredText({ user: form('after all') }, '"s"')));
        stream.end();
      },
      DONE,
    ]);
    const response = await call();
    const { id: cursor } = await response.next(({ id }) => id !== undefined);
    response.close();
    await response.ended;
    ask.open();
    const resumed = await session.get(cursor);
    const question = await nextQuestion(resumed);
    const { id: second } = resumed.blocks.findLast(({ data }) => data !== '') ?? {};
    resumed.close();
    await resumed.ended;
    // Answered while no stream is attached: the result waits in the log.
    expect((await session.post(responseTo(question.id, ACCEPT))).status).toBe(202);
    const last = await session.get(second);
    expect((await last.rpc()).result.content[0].text).toBe('done');
    await last.text();
    expect(last.messages).toHaveLength(1);
    expect(calls()).toHaveLength(2);
  });

  test('X16 one caller who cancels does not take the tool list from another who waits for it', async () => {
    const list = gate();
    const listing = gate();
    const upstream = closing(
      await startModernServer({
        intercept: async (seen) => {
          if (seen.method === 'tools/list') {
            listing.open();
            await list.opened;
          }
          return false;
        },
      }),
    );
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url);
    const first = session.request(1, 'tools/call', { name: 'probe_array', arguments: { n: 2 } });
    await listing.opened;
    const second = session.request(2, 'tools/call', { name: 'probe_array', arguments: { n: 3 } });
    await session.notify('notifications/cancelled', { requestId: 1 });
    expect(await (await first).text()).not.toContain('result');
    list.open();
    // Without the list the array would not be wrapped for a client that knows objects only.
    expect((await (await second).rpc()).result.structuredContent).toEqual({ result: [0, 1, 2] });
    expect(upstream.requestsFor('tools/list')).toHaveLength(1);
  });
});

describe('C16 one question after and beside the other', () => {
  test('C16 a tool that asks is called twice on one session', async () => {
    const { session, call } = await scripted([
      inputRequiredText({ user: form('first') }),
      DONE,
      inputRequiredText({ user: form('second') }),
      DONE,
    ]);
    for (const [id, message] of [
      ['one', 'first'],
      ['two', 'second'],
    ] as const) {
      const response = await call({}, id);
      const question = await nextQuestion(response);
      expect(question.params.message).toBe(message);
      await session.post(responseTo(question.id, ACCEPT));
      expect(await response.rpc()).toMatchObject({ id, result: { content: [{ text: 'done' }] } });
    }
  });

  test('C16 two calls of one session ask at the same time, each on its own stream', async () => {
    const upstream = closing(await startModernServer());
    const gateway = closing(await startGateway(upstream.url));
    const session = await openWireSession(gateway.url, { capabilities: CAPABILITIES });
    const responses = await Promise.all(
      ['a', 'b'].map((label) =>
        session.request(label, 'tools/call', { name: 'probe_elicit_form', arguments: { label } }),
      ),
    );
    const questions = await Promise.all(responses.map(nextQuestion));
    expect(questions.map(({ params }) => params.message)).toEqual(['Probe form a', 'Probe form b']);
    // Answered in the other order.
    for (const { id, params } of [...questions].reverse()) {
      await session.post(responseTo(id, { action: 'accept', content: { name: params.message } }));
    }
    const results = await Promise.all(responses.map((response) => response.rpc()));
    expect(results.map(({ id }) => id)).toEqual(['a', 'b']);
    expect(results.map(({ result }) => JSON.parse(result.content[0].text).content.name)).toEqual([
      'Probe form a',
      'Probe form b',
    ]);
  });

  test('C16 two principals are asked at the same time, and answer for themselves only', async () => {
    const upstream = closing(await startModernServer());
    const gateway = closing(await startGateway(upstream.url));
    const both = gate();
    let open = 0;
    const names = await Promise.all(
      ['Ann', 'Bob'].map(async (name) => {
        const { client } = closing(
          await connectLegacyClient(gateway.url, {
            headers: { authorization: `Bearer ${name}` },
            onElicit: async () => {
              if (++open === 2) both.open();
              await both.opened;
              return { action: 'accept', content: { name } };
            },
          }),
        );
        const result: any = await client.callTool({ name: 'probe_elicit_form', arguments: { label: name } });
        return JSON.parse(result.content[0].text).content.name;
      }),
    );
    expect(names).toEqual(['Ann', 'Bob']);
  });
});

describe('X17 what the client did not declare', () => {
  test('X17 is an error for that call, at once, and says what is missing', async () => {
    const { gateway, calls } = await scripted([inputRequiredText({ model: SAMPLING }), DONE]);
    const session = await openWireSession(gateway.url, { capabilities: { elicitation: {} } });
    const { message } = await session.call('tools/call', { name: 'ask', arguments: {} });
    expect(message.error).toMatchObject({
      code: -31010,
      data: { requiredCapabilities: { sampling: {} } },
    });
    expect(calls()).toHaveLength(1);
  });

  test('X17 nothing is claimed upstream that the client did not declare', async () => {
    const { call, upstream } = await started({ onElicit: agreeable.onElicit });
    await call('probe_echo');
    const [request] = upstream.requestsFor('tools/call');
    const claimed = request?.message.params._meta['io.modelcontextprotocol/clientCapabilities'];
    expect(Object.keys(claimed)).toEqual(['elicitation']);
  });
});

describe('X18 URL elicitation', () => {
  test('X18 has an id for the client, which hears of the completion before the result', async () => {
    const asked: any[] = [];
    const { call, notifications, upstream } = await started({
      onElicit: (params) => {
        asked.push(params);
        return { action: 'accept' };
      },
    });
    expect(JSON.parse(await call('probe_elicit_url', { label: 'x' }))).toEqual({ action: 'accept' });
    const [{ elicitationId, url: at }] = asked;
    expect(at).toBe('https://example.com/authorize?x=x');
    expect(notifications).toEqual([
      { method: 'notifications/elicitation/complete', params: { elicitationId } },
    ]);
    for (const { body } of upstream.requestsFor('tools/call')) expect(body).not.toContain(elicitationId);
  });

  test('X18 accept is consent: the same URL asked again is accepted without asking', async () => {
    const ask = inputRequiredText({ login: url('https://example.com/a') }, '"s"');
    const { session, call, calls } = await scripted([ask, ask, ask, DONE]);
    const response = await call();
    await session.post(responseTo((await nextQuestion(response)).id, { action: 'accept' }));
    expect((await response.rpc()).result.content[0].text).toBe('done');
    expect(response.messages.map(({ method }) => method)).toEqual([
      'elicitation/create',
      'notifications/elicitation/complete',
      undefined,
    ]);
    expect(calls().map(({ message }) => message.params.inputResponses)).toEqual([
      undefined,
      { login: { action: 'accept' } },
      { login: { action: 'accept' } },
      { login: { action: 'accept' } },
    ]);
  });

  test('X18 a declined URL is asked again when the server asks again', async () => {
    const ask = inputRequiredText({ login: url('https://example.com/a') }, '"s"');
    const { session, call } = await scripted([ask, ask, DONE]);
    const response = await call();
    await session.post(responseTo((await nextQuestion(response)).id, { action: 'decline' }));
    await session.post(responseTo((await nextQuestion(response)).id, { action: 'decline' }));
    await response.rpc();
    expect(response.messages.some(({ method }) => method === 'notifications/elicitation/complete')).toBe(
      false,
    );
  });
});

test('X19 roots/list_changed ends at the gateway', async () => {
  const { session, upstream, call } = await scripted([DONE]);
  const answer = await session.notify('notifications/roots/list_changed');
  expect(answer.status).toBe(202);
  await (await call()).rpc();
  expect(upstream.requestsFor('notifications/roots/list_changed')).toEqual([]);
});

test('X16 a call that runs without a connection too long ends with an error for who comes back', async () => {
  const { session, call, upstream } = await scripted([(_request, res) => void openStream(res)], {
    limits: { detachedPerPrincipal: 1 },
  });
  const cursors: (string | undefined)[] = [];
  for (const id of ['old', 'new']) {
    const response = await call({}, id);
    cursors.push((await response.next((block) => block.id !== undefined)).id);
    const dropped = once(upstream.log, 'ended');
    response.close();
    await response.ended;
    if (id === 'new') await dropped;
  }
  const resumed = await session.get(cursors[0]);
  expect(await resumed.rpc()).toMatchObject({ id: 'old', error: { code: -31006 } });
  expect(upstream.requestsFor('tools/call').map(({ ended }) => ended)).toEqual(['dropped', undefined]);
});

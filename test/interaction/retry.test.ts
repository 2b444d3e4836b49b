import { describe, expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { DrivenServer } from './driven-server.js';
import { answers, asked, postLeg, runLeg } from './legs.js';
import { ACCEPT, SAMPLING, form } from './rounds.js';

/** A gateway in front of a legacy server driven from the test. */
async function driven() {
  const upstream = closing(await DrivenServer.start({ capabilities: { tools: {}, logging: {} } }));
  const gateway = closing(await startGateway(upstream.url));
  return { upstream, gateway, url: gateway.url };
}

// Every request speaks for itself: what the first one declared says nothing of what may be sent to the retry.
// @see /specification/2026-07-28/basic/index#statelessness
describe('X16, X17, X23 a retry is a request of its own', () => {
  test('X17 it is not asked what it did not declare: 400 -32021, and the call is cancelled', async () => {
    const { upstream, url } = await driven();
    const leg = runLeg(url);
    const call = await upstream.call();
    call.ask(1, form('one'));
    const { state, keys } = asked((await leg).message);
    const retry = runLeg(url, {
      requestState: state,
      inputResponses: answers(keys, ACCEPT),
      capabilities: { elicitation: {} },
    });
    expect(await upstream.answerTo(1)).toMatchObject({ result: ACCEPT });
    call.ask(2, SAMPLING);
    expect(await retry).toMatchObject({
      status: 400,
      message: { error: { code: -32021, data: { requiredCapabilities: { sampling: {} } } } },
    });
    expect(await upstream.answerTo(2)).toHaveProperty('error');
    const [cancelled] = await upstream.notifications('notifications/cancelled');
    expect(cancelled?.message.params.requestId).toBe(call.request.message.id);
  });

  test('X17 it is asked what only it declared', async () => {
    const { upstream, url } = await driven();
    const leg = runLeg(url, { capabilities: { elicitation: {} } });
    const call = await upstream.call();
    call.ask(1, form('one'));
    const { state, keys } = asked((await leg).message);
    const retry = runLeg(url, { requestState: state, inputResponses: answers(keys, ACCEPT) });
    expect(await upstream.answerTo(1)).toMatchObject({ result: ACCEPT });
    call.ask(2, SAMPLING);
    expect(asked((await retry).message).questions.map(({ method }) => method)).toEqual([SAMPLING.method]);
  });

  test('X16 one that leaves open what it cannot be asked again: -32021, and the handle stays good', async () => {
    const { upstream, url } = await driven();
    const leg = runLeg(url);
    const call = await upstream.call();
    call.ask(1, form('one'));
    call.ask(2, SAMPLING);
    const { state, keys, questions } = asked((await leg).message);
    const elicited = keys[questions.findIndex(({ method }) => method === 'elicitation/create')] ?? '';
    const half = { requestState: state, inputResponses: { [elicited]: ACCEPT } };
    expect(await runLeg(url, { ...half, capabilities: { elicitation: {} } })).toMatchObject({
      status: 400,
      message: { error: { code: -32021, data: { requiredCapabilities: { sampling: {} } } } },
    });
    expect(upstream.answers(1)).toEqual([]);
    const again = asked((await runLeg(url, half)).message);
    expect(again.questions.map(({ method }) => method)).toEqual([SAMPLING.method]);
    expect(await upstream.answerTo(1)).toMatchObject({ result: ACCEPT });
  });

  test('X7 its Mcp-Param headers must not contradict the arguments: 400 -32020, and the handle stays good', async () => {
    const { upstream, url } = await driven();
    const leg = runLeg(url, {
      arguments: { city: 'Köln' },
      headers: { 'mcp-param-city': '=?base64?S8O2bG4=?=' },
    });
    const list = await upstream.call();
    list.stream.send({
      jsonrpc: '2.0',
      id: list.request.message.id,
      result: {
        tools: [
          {
            name: 'ask',
            inputSchema: { type: 'object', properties: { city: { type: 'string', 'x-mcp-header': 'City' } } },
          },
        ],
      },
    });
    const call = await upstream.call(1);
    call.ask(1, form('one'));
    const { state, keys } = asked((await leg).message);
    const retry = {
      arguments: { city: 'Köln' },
      requestState: state,
      inputResponses: answers(keys, ACCEPT),
    };
    expect(await runLeg(url, { ...retry, headers: { 'mcp-param-city': 'Bonn' } })).toMatchObject({
      status: 400,
      message: { error: { code: -32020 } },
    });
    expect(upstream.answers(1)).toEqual([]);
    const good = runLeg(url, { ...retry, headers: { 'mcp-param-city': '=?base64?S8O2bG4=?=' } });
    expect(await upstream.answerTo(1)).toMatchObject({ result: ACCEPT });
    call.finish();
    expect((await good).message).toHaveProperty('result.resultType', 'complete');
  });

  test.each([
    ['none', undefined, []],
    ['errors', 'error', ['kept error', 'late error']],
    ['everything', 'debug', ['kept info', 'kept error', 'late info', 'late error']],
  ])(
    'X23 one that asks for %s gets just that, whatever the first request asked for',
    async (_, level, wanted) => {
      const { upstream, url } = await driven();
      const leg = runLeg(url, { logLevel: 'debug' });
      const call = await upstream.call();
      call.ask(1, form('one'));
      const { state, keys } = asked((await leg).message);
      call.log('info', 'kept info');
      call.log('error', 'kept error');
      // Once the ping behind them is answered, they have come.
      call.ask('ping', { method: 'ping' });
      await upstream.answerTo('ping');
      const reopening = postLeg(url, {
        requestState: state,
        inputResponses: answers(keys, ACCEPT),
        ...(level !== undefined && { logLevel: level }),
      });
      await upstream.answerTo(1);
      call.log('info', 'late info');
      call.log('error', 'late error');
      call.finish();
      const retry = await reopening;
      expect(await retry.rpc()).toHaveProperty('result.resultType', 'complete');
      expect(retry.messages.flatMap(({ params }) => params?.data ?? [])).toEqual(wanted);
    },
  );
});

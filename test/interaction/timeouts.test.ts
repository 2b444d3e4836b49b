import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { CELLS, ERAS, startPeer } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { startLegacyServer } from '../peers/legacy-server.js';
import { openWireClient } from '../peers/wire-client.js';
import { DrivenServer } from './driven-server.js';
import { ALL_CAPABILITIES, answers, asked, runLeg } from './legs.js';
import { ACCEPT, form } from './rounds.js';

describe.each(CELLS)('timeouts, $cell', ({ client: clientEra, upstream: upstreamEra }) => {
  async function started(timeouts: Record<string, number>) {
    const upstream = closing(await startPeer(upstreamEra));
    const gateway = closing(await startGateway(upstream.url, { timeouts }));
    const client = await openWireClient(clientEra, gateway.url);
    // The first request settles what the upstream is, which has times of its own.
    await client.call('tools/list');
    const call = (args: object) =>
      client.call('tools/call', { name: 'probe_slow', arguments: args }, { meta: { progressToken: 1 } });
    return { upstream, gateway, call };
  }

  test('X20 silence ends a call, and the upstream is told', async () => {
    const { upstream, gateway, call } = await started({ callMs: 400 });
    const aborted = once(upstream.log, 'aborted');
    const { message } = await call({ ms: 10_000 });
    expect(message.error).toMatchObject({ code: -31001 });
    await aborted;
    expect(upstream.log.finished).toHaveLength(0);
    expect(gateway.activity().questions).toBe(0);
  });

  test('X22 progress extends the time of a call', async () => {
    const { call } = await started({ callMs: 500 });
    const { message } = await call({ ms: 900, tickMs: 100 });
    expect(message.result.content[0].text).toContain('after 9 ticks');
  });

  test('X20 but not beyond the absolute bound', async () => {
    const { upstream, call } = await started({ callMs: 500, callMaxMs: 700 });
    const aborted = once(upstream.log, 'aborted');
    const { message } = await call({ ms: 20_000, tickMs: 100 });
    expect(message.error).toMatchObject({ code: -31001 });
    await aborted;
  });
});

test.each(ERAS)('X20 an upstream may have times of its own, %s', async (era) => {
  const upstream = closing(await startPeer(era));
  const gateway = closing(
    await startGateway(upstream.url, {}, { timeouts: { callMs: 300, callMaxMs: 600 } }),
  );
  const client = await openWireClient(era, gateway.url);
  await client.call('tools/list');
  const call = (args: object) =>
    client.call('tools/call', { name: 'probe_slow', arguments: args }, { meta: { progressToken: 1 } });
  expect((await call({ ms: 10_000 })).message.error).toMatchObject({ code: -31001 });
  expect((await call({ ms: 10_000, tickMs: 100 })).message.error).toMatchObject({ code: -31001 });
  expect((await call({ ms: 400, tickMs: 100 })).message.result.content[0].text).toContain('after 4 ticks');
});

describe('timeouts and questions', () => {
  test('X16 a question does not count against the time of the call', async () => {
    const upstream = closing(await DrivenServer.start());
    const gateway = closing(await startGateway(upstream.url, { timeouts: { callMs: 400, parkMs: 5000 } }));
    const leg = runLeg(gateway.url);
    const call = await upstream.call();
    call.ask(1, form('take your time'));
    const { state, keys } = asked((await leg).message);
    // Longer than the call may be silent.
    await new Promise((resolve) => setTimeout(resolve, 700));
    const retry = runLeg(gateway.url, { requestState: state, inputResponses: answers(keys, ACCEPT) });
    expect(await upstream.answerTo(1)).toMatchObject({ result: ACCEPT });
    call.finish();
    expect((await retry).message.result.content[0].text).toBe('done');
  });

  test('X16 after the answer the silence counts again', async () => {
    const upstream = closing(await DrivenServer.start());
    const gateway = closing(await startGateway(upstream.url, { timeouts: { callMs: 400 } }));
    const leg = runLeg(gateway.url);
    const call = await upstream.call();
    call.ask(1, form('quick'));
    const { state, keys } = asked((await leg).message);
    const retry = await runLeg(gateway.url, { requestState: state, inputResponses: answers(keys, ACCEPT) });
    expect(retry.message.error).toMatchObject({ code: -31001 });
    const [notice] = await upstream.notifications('notifications/cancelled');
    expect(notice?.message.params.requestId).toBe(call.request.message.id);
  });

  test('X20 a parked call fails when the upstream forgets its session', async () => {
    const upstream = closing(await startLegacyServer());
    const gateway = closing(await startGateway(upstream.url));
    const request = { name: 'probe_elicit_form', arguments: { label: 'x' } };
    const { state, keys } = asked((await runLeg(gateway.url, request)).message);
    await upstream.forgetSessions();
    // The next request finds out, and gets a new session.
    const echo = await runLeg(gateway.url, { name: 'probe_echo' });
    expect(echo.message.result.resultType).toBe('complete');
    const retry = { ...request, requestState: state, inputResponses: answers(keys, ACCEPT) };
    expect((await runLeg(gateway.url, retry)).message.error).toMatchObject({ code: -31003 });
    expect(upstream.log.runs.filter(({ name }) => name === 'probe_elicit_form')).toHaveLength(1);
    expect(gateway.activity()).toMatchObject({ parked: 0, questions: 0 });
  });

  test('X20 closing the gateway tells the upstream of what is parked', async () => {
    const upstream = closing(await startLegacyServer());
    const gateway = await startGateway(upstream.url);
    const request = { name: 'probe_elicit_form', capabilities: ALL_CAPABILITIES };
    asked((await runLeg(gateway.url, request)).message);
    const aborted = once(upstream.log, 'aborted');
    await gateway.close();
    await aborted;
    expect(upstream.log.finished).toHaveLength(0);
  });
});

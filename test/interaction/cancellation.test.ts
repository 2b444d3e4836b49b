import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CELLS, ERAS } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { type RunningGateway, startGateway } from '../peers/gateway.js';
import { openWireSession } from '../peers/wire-client.js';
import { CancellableCall, LabelledUpstream, type UpstreamCall } from './cancellable.js';
import {
  AT_CLIENT,
  AT_UPSTREAM,
  type Cell,
  type Fate,
  cancellationCells,
  cancellationTables,
} from './cancellation-cells.js';
import { withMatrix } from './cancellation-section.js';

const SHORT_MS = 400;

/** Brings a call to where the cell wants it. */
async function arrange(
  { upstream: era, phase }: Cell,
  call: CancellableCall,
  upstream: LabelledUpstream,
  label: string,
): Promise<UpstreamCall> {
  const first = await upstream.call(label);
  if (phase === 'before headers') return first;
  first.progress(1);
  await call.streaming();
  if (phase === 'while streaming' || phase === 'same tick as the result') return first;
  if (phase === 'after the end') {
    first.finish();
    await (await call.response)?.text();
    return first;
  }
  first.ask();
  const question = await call.asked();
  if (phase !== 'during the retry') return first;
  await call.answer(question);
  const second = era === 'modern' ? await upstream.call(label, 1) : first;
  if (era === 'legacy') await upstream.until(() => upstream.answerFor(second) !== undefined);
  second.progress(2);
  await call.streaming();
  return second;
}

/** Lets it happen. */
async function happen({ cause, phase }: Cell, call: CancellableCall, running: UpstreamCall): Promise<void> {
  if (phase === 'same tick as the result') running.finish();
  if (cause === 'client cancels') await call.cancel();
  else if (cause === 'client vanishes') call.vanish();
  else if (cause === 'upstream vanishes') running.vanish();
}

/** What the client sees in the end. */
async function atClient(
  cell: Cell,
  call: CancellableCall,
  running: UpstreamCall,
  upstream: LabelledUpstream,
  label: string,
): Promise<string> {
  const { client, phase, cause } = cell;
  const leaves = cause === 'client vanishes' || (client === 'modern' && cause === 'client cancels');
  if (phase === 'while parked') {
    if (cause === 'upstream vanishes') await upstream.until(() => running.request.ended === 'dropped');
    else await upstream.until(() => upstream.cancelled(running));
    return outcome(await call.retry());
  }
  if (!leaves || phase === 'after the end') {
    const unanswered =
      phase === 'while a question is open' && cause === 'timeout' && cell.upstream === 'legacy';
    if (unanswered) {
      await upstream.until(() => upstream.answerFor(running) !== undefined);
      running.finish();
    }
    const seen = await outcome(await call.response);
    if (phase !== 'same tick as the result') return seen;
    if (cause === 'client cancels')
      return seen === AT_CLIENT.result || seen === AT_CLIENT.silence ? AT_CLIENT.either : seen;
    if (cause === 'timeout')
      return seen === AT_CLIENT.result || seen === AT_CLIENT.late ? AT_CLIENT.resultOrError : seen;
    return seen;
  }
  if (client === 'modern') return AT_CLIENT.gone;
  const resumed = await call.resume();
  if (resumed === undefined) {
    running.finish();
    return AT_CLIENT.lost;
  }
  if (phase === 'while a question is open') {
    const first = await call.response;
    // The question was on the stream that was cut; it stays open, and its answer counts.
    await call.answer(first?.messages.find(({ method }) => method === 'elicitation/create'));
    await resumed.next((block) => block.comment !== undefined);
    (cell.upstream === 'modern' ? await upstream.call(label, 1) : running).finish();
  } else if (phase !== 'same tick as the result') {
    running.finish();
  }
  return (await outcome(resumed)) === AT_CLIENT.result ? AT_CLIENT.resumed : 'something else on resuming';
}

async function outcome(response: Awaited<CancellableCall['response']>): Promise<string> {
  if (response === undefined) return AT_CLIENT.gone;
  const responses = await CancellableCall.responses(response);
  if (responses.length > 1) return `${responses.length} responses`;
  const [{ result, error }] = responses.length === 0 ? [{} as any] : responses;
  if (result !== undefined) return AT_CLIENT.result;
  const known: Record<number, string> = {
    [-31001]: AT_CLIENT.late,
    [-31003]: AT_CLIENT.unknown,
    [-31010]: AT_CLIENT.unanswered,
    [-32602]: AT_CLIENT.expired,
  };
  return error === undefined ? AT_CLIENT.silence : (known[error.code] ?? `error ${error.code}`);
}

/** Whether the upstream sees what it should, and nothing else. */
async function atUpstream(
  expected: string,
  running: UpstreamCall,
  upstream: LabelledUpstream,
): Promise<string> {
  const cancelled = () => upstream.cancelled(running);
  const dropped = () => running.request.ended === 'dropped';
  switch (expected) {
    case AT_UPSTREAM.cancelled:
      return (await upstream.until(cancelled)) ? expected : 'no cancellation';
    case AT_UPSTREAM.closed:
      return (await upstream.until(dropped, 2000)) && !cancelled() ? expected : 'its stream stays open';
    case AT_UPSTREAM.refused:
      return upstream.answerFor(running)?.error !== undefined && !cancelled() ? expected : 'no error';
    case AT_UPSTREAM.gone:
      return cancelled() ? 'cancelled although it had gone' : expected;
    case AT_UPSTREAM.finished:
      return upstream.cancellations(running) <= 1 ? expected : 'cancelled twice';
    default:
      return cancelled() || dropped() ? 'it was stopped' : expected;
  }
}

const seen: string[] = [];
afterAll(() => {
  process.stdout.write(`\nX20, X21: what was seen\n${seen.join('\n')}\n`);
});

describe.each(CELLS)('X20, X21 $cell', ({ client, upstream: era }) => {
  let upstream: LabelledUpstream;
  let patient: RunningGateway;
  let impatient: RunningGateway;
  beforeAll(async () => {
    upstream = await LabelledUpstream.start(era);
    patient = await startGateway(upstream.server.url, { timeouts: { parkMs: SHORT_MS } });
    const timeouts = { callMs: SHORT_MS, questionMs: SHORT_MS, parkMs: SHORT_MS };
    impatient = await startGateway(upstream.server.url, { timeouts });
  });
  afterAll(async () => {
    for (const gateway of [patient, impatient]) {
      expect(gateway.activity()).toMatchObject({ parked: 0, questions: 0 });
      await gateway.close();
    }
    await upstream.close();
  });

  const cells = cancellationCells(client, era).filter(({ fate }) => fate !== undefined);
  test.each(cells)('X20, X21 $phase, $cause: $fate.client', async (cell) => {
    const label = `${cell.phase}, ${cell.cause}`;
    const gateway = cell.cause === 'timeout' ? impatient : patient;
    const call = await CancellableCall.start(client, gateway, label);
    const running = await arrange(cell, call, upstream, label);
    await happen(cell, call, running);
    const expected = cell.fate as Fate;
    const fate = {
      client: await atClient(cell, call, running, upstream, label),
      upstream: await atUpstream(expected.upstream, running, upstream),
    };
    seen.push(`${client}-${era} | ${cell.phase} | ${cell.cause} | ${fate.client} | ${fate.upstream}`);
    expect(fate).toEqual(expected);
  });
});

describe('X20 what a cancellation may name', () => {
  test.each(ERAS)(
    'X20 unknown, finished, foreign and malformed ids are 202 and ignored, %s upstream',
    async (era) => {
      const upstream = closing(await LabelledUpstream.start(era));
      const gateway = closing(await startGateway(upstream.server.url));
      const mine = await CancellableCall.start('legacy', gateway, 'mine');
      const running = await upstream.call('mine');
      const other = await openWireSession(gateway.url);
      for (const requestId of ['call', 0, 'nobody', null, { id: 'call' }]) {
        expect((await other.notify('notifications/cancelled', { requestId })).status).toBe(202);
      }
      expect((await other.notify('notifications/cancelled', {})).status).toBe(202);
      expect((await other.notify('notifications/cancelled')).status).toBe(202);
      // Of all that, nothing reached the call of another session.
      running.finish();
      expect(await outcome(await mine.response)).toBe(AT_CLIENT.result);
      expect(upstream.server.log.cancelled).toEqual([]);
    },
  );

  test('X20 0, "0" and "call" are three requests', async () => {
    const upstream = closing(await LabelledUpstream.start('legacy'));
    const gateway = closing(await startGateway(upstream.server.url));
    const session = await openWireSession(gateway.url);
    const ids = [0, '0', 'call'];
    const responses = ids.map((id) =>
      session.request(id, 'tools/call', { name: 'ask', arguments: { label: JSON.stringify(id) } }),
    );
    const calls = await Promise.all(ids.map((id) => upstream.call(JSON.stringify(id))));
    await session.notify('notifications/cancelled', { requestId: '0' });
    expect(await outcome(await responses[1])).toBe(AT_CLIENT.silence);
    for (const index of [0, 2]) {
      calls[index]?.finish();
      expect(await outcome(await responses[index])).toBe(AT_CLIENT.result);
    }
    expect(upstream.server.log.cancelled.map(({ requestId }) => requestId)).toEqual([calls[1]?.id]);
  });
});

test('X20 MIGRATION.md shows the matrix that the tests run', async () => {
  const page = await readFile(new URL('../../MIGRATION.md', import.meta.url), 'utf8');
  expect(page).toBe(withMatrix(page, cancellationTables(ERAS)));
});

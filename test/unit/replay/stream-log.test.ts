import { expect, test } from 'vitest';
import { EventIds } from '../../../src/replay/event-id.js';
import { ReplayBuffer, ReplayTotal } from '../../../src/replay/replay-buffer.js';
import { BUFFER_BYTES, PacedSink } from '../../streams/paced-client.js';
import { LIMITS } from './store-contract.js';

const text = (number: number) => JSON.stringify({ number, fill: 'x'.repeat(100) });
const texts = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => text(from + i));

function newStream() {
  const observer = { detached: () => undefined, attached: () => undefined };
  const limits = { ...LIMITS, streamBufferBytes: BUFFER_BYTES };
  return new ReplayBuffer(new EventIds('e'), limits, new ReplayTotal(), observer).open('post', ['1']);
}

const data = (sink: PacedSink) => sink.taken.map((event) => event.data);

test('X26 a reader that is catching up is fed at its own pace, however fast the upstream is', () => {
  const stream = newStream();
  for (const json of texts(0, 10)) stream.append(json);
  const sink = new PacedSink();
  stream.attach(sink, 0, false);
  let next = 10;
  // For each that the reader takes, the upstream says ten.
  while (sink.open && sink.taken.length < 30) {
    for (const json of texts(next, next + 10)) stream.append(json);
    next += 10;
    sink.read();
  }
  expect(sink.open).toBe(true);
  stream.append('"result"', { request: '1' });
  stream.finish();
  for (let i = 0; sink.open && i < 1000; i++) sink.read();
  expect(data(sink)).toEqual([...texts(0, next), '"result"']);
});

test('X26 a reader that was live and falls behind by more than the bound is cut off', () => {
  const stream = newStream();
  for (const json of texts(0, 10)) stream.append(json);
  const sink = new PacedSink();
  stream.attach(sink, 0, false);
  for (let i = 0; sink.bufferedBytes > 0 && i < 1000; i++) sink.read();
  expect(data(sink)).toEqual(texts(0, 10));
  let next = 10;
  while (sink.open && next < 100) stream.append(text(next++));
  expect(sink.open).toBe(false);
  // What the sink held and the bound, and no more.
  expect(next * text(10).length).toBeLessThan(10 * text(10).length + 4 * BUFFER_BYTES);
});

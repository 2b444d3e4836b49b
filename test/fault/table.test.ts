import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { type Fault, FAULTS, STORES_OF, cellsOf, fateOf, faultPage } from './table/fault-cells.js';
import { play } from './table/scenes.js';

/** Those that need neither another process nor megabytes; `npm run faults` runs them all. */
const QUICK: readonly Fault[] = [
  'upstream killed',
  "client's socket cut without FIN",
  "upstream's socket cut without FIN",
  'Redis killed, and started again',
];

describe.each(QUICK)('%s', (fault) => {
  const cells = STORES_OF[fault].flatMap((store) => cellsOf(fault, store));
  test.concurrent.each(cells)('$client client, $upstream upstream, $store store', async (cell) => {
    expect(await play(cell)).toEqual(fateOf(cell));
  });
});

test('every fault has its four cells on each store', () => {
  const cells = FAULTS.flatMap((fault) => STORES_OF[fault].flatMap((store) => cellsOf(fault, store)));
  expect(cells).toHaveLength(4 * FAULTS.flatMap((fault) => STORES_OF[fault]).length);
  for (const cell of cells) {
    expect(fateOf(cell)).toEqual({ client: expect.any(String), upstream: expect.any(String) });
  }
});

test('the page of the table is what is expected', async () => {
  const page = new URL('../../docs/faults.md', import.meta.url);
  expect(await readFile(page, 'utf8')).toBe(faultPage());
});

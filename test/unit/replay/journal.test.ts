import { afterEach, expect, test, vi } from 'vitest';
import { Journal } from '../../../src/replay/journal.js';
import type { Change } from '../../../src/replay/store.js';

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
const seen = (at: number): Change => ({ kind: 'seen', session: 's', at });

afterEach(() => vi.restoreAllMocks());

test('a clock that is set back does not hold the next change back', async () => {
  const kept: number[] = [];
  const journal = new Journal((changes) => {
    for (const change of changes) if (change.kind === 'seen') kept.push(change.at);
  }, silent);
  await new Promise<void>((resolve) => journal.write(seen(1), resolve));
  const wall = Date.now();
  vi.spyOn(Date, 'now').mockReturnValue(wall - 3_600_000);
  await new Promise<void>((resolve) => journal.write(seen(2), resolve));
  expect(kept).toEqual([1, 2]);
  journal.close();
});

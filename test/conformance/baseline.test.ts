import { expect, test } from 'vitest';
import { compare } from './baseline.js';
import type { BaselineEntry } from './baseline.js';
import { CELLS } from './cells.js';
import { broken } from './suite.js';

const cell = CELLS.find(({ side, name }) => side === 'server' && name === 'modern-legacy')!;
const known: BaselineEntry = {
  side: 'server',
  cell: 'modern-legacy',
  scenario: 'a',
  reason: 'cannot be',
  issue: null,
};
const passing = (scenario: string) => ({ scenario, passed: true, problems: [], skipped: 0 });

test('a known failure is no surprise, any other is', () => {
  const { unexpected, stale } = compare([{ cell, results: [broken('a', 'x'), broken('b', 'y')] }], [known]);
  expect(unexpected.map(({ result }) => result.scenario)).toEqual(['b']);
  expect(stale).toEqual([]);
});

test('a known failure that passes must leave the baseline', () => {
  expect(compare([{ cell, results: [passing('a')] }], [known]).stale).toEqual([known]);
});

test('an entry of a scenario or a cell that did not run is left alone', () => {
  const other = CELLS.find(({ side, name }) => side === 'server' && name === 'modern-modern')!;
  const results = [
    { cell, results: [passing('b')] },
    { cell: other, results: [passing('a')] },
  ];
  expect(compare(results, [known]).stale).toEqual([]);
});

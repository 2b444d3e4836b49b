import { readFile } from 'node:fs/promises';
import type { CellResult } from './cells.js';
import type { ScenarioResult, Side } from './suite.js';

/** A scenario that is known not to pass, and why. */
export interface BaselineEntry {
  readonly side: Side;
  readonly cell: string;
  readonly scenario: string;
  readonly reason: string;
  /** Where it is tracked; `null` when nothing can be done about it. */
  readonly issue: string | null;
}

export interface Outcome {
  readonly side: Side;
  readonly cell: string;
  readonly result: ScenarioResult;
}

export interface Comparison {
  /** Failing and not in the baseline. */
  readonly unexpected: readonly Outcome[];
  /** Passing, so the baseline's entry must go. */
  readonly stale: readonly BaselineEntry[];
}

export async function readBaseline(): Promise<BaselineEntry[]> {
  const text = await readFile(new URL('./baseline.json', import.meta.url), 'utf8');
  return JSON.parse(text) as BaselineEntry[];
}

/** The baseline's entry for a scenario of a cell. */
export function knownFailure(
  baseline: readonly BaselineEntry[],
  { side, cell }: Pick<Outcome, 'side' | 'cell'>,
  scenario: string,
): BaselineEntry | undefined {
  return baseline.find((entry) => entry.side === side && entry.cell === cell && entry.scenario === scenario);
}

/** Compares what ran with the baseline. Entries for scenarios that did not run are left alone. */
export function compare(results: readonly CellResult[], baseline: readonly BaselineEntry[]): Comparison {
  const unexpected: Outcome[] = [];
  const stale: BaselineEntry[] = [];
  for (const { cell, results: outcomes } of results) {
    for (const result of outcomes) {
      const outcome = { side: cell.side, cell: cell.name, result };
      const entry = knownFailure(baseline, outcome, result.scenario);
      if (!result.passed && !entry) unexpected.push(outcome);
      if (result.passed && entry) stale.push(entry);
    }
  }
  return { unexpected, stale };
}

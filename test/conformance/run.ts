import { parseArgs } from 'node:util';
import { type Comparison, compare, readBaseline } from './baseline.js';
import { CELLS, runCell } from './cells.js';
import type { Cell, CellResult } from './cells.js';
import { summaryLine, writeMatrix } from './matrix-page.js';

const USAGE = `npm run conformance -- [flags]
  --side server|client     one side only
  --cell NAME              one cell only: legacy-legacy, legacy-modern, modern-legacy, modern-modern,
                           direct-legacy, direct-modern
  --direct                 only the cells without the gateway
  --scenario NAME          one scenario only
  --verbose                every scenario and why it failed
Exits 1 on a failure that baseline.json does not know, and on an entry of it that passes.
RESULTS.md is written by complete runs only.`;

/** For everything together; past it whatever is left counts as failed. */
const BUDGET_MS = 340_000;
/** Two cells at once: the machines have two cores, and some scenarios measure time. */
const CONCURRENCY = 2;
/** More failures than this are no accident, and are not run again. */
const SECOND_TRIES = 5;
/** How long a scenario may take when it is run again, in milliseconds. */
const SECOND_TRY_MS = 60_000;

const { values: flags } = parseArgs({
  options: {
    side: { type: 'string' },
    cell: { type: 'string' },
    direct: { type: 'boolean', default: false },
    scenario: { type: 'string' },
    verbose: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

process.exitCode = await main();

async function main(): Promise<number> {
  if (flags.help) {
    console.log(USAGE);
    return 0;
  }
  const cells = CELLS.filter(
    (cell) =>
      (flags.side === undefined || cell.side === flags.side) &&
      (flags.cell === undefined || cell.name === flags.cell) &&
      (!flags.direct || cell.direct),
  );
  const results = (await runAll(cells)).filter((result) => result.results.length > 0);
  if (results.length === 0) {
    console.error(`Nothing to run.\n${USAGE}`);
    return 1;
  }
  const baseline = await readBaseline();
  if (cells.length === CELLS.length && flags.scenario === undefined) await writeMatrix(results, baseline);
  const { stale, unexpected: failed } = compare(results, baseline);
  const unexpected = failed.length > SECOND_TRIES ? failed : await failAgain(failed);
  if (!flags.verbose) for (const { side, cell, result } of unexpected) printProblems(side, cell, result);
  for (const { side, cell, scenario } of stale) {
    console.log(`PASSES ${side} ${cell} ${scenario}: remove it from baseline.json`);
  }
  console.log(`${unexpected.length} unexpected failure(s), ${stale.length} stale baseline entr(ies)`);
  return unexpected.length + stale.length > 0 ? 1 : 0;
}

/**
 * The failures that are failures the second time too. Some scenarios measure milliseconds, and a machine shared with
 * others loses some; what is broken fails again.
 */
async function failAgain(failed: Comparison['unexpected']): Promise<Comparison['unexpected']> {
  const still: Comparison['unexpected'][number][] = [];
  for (const outcome of failed) {
    const cell = CELLS.find(({ side, name }) => side === outcome.side && name === outcome.cell);
    const again =
      cell &&
      (await runCell(cell, { scenario: outcome.result.scenario, deadline: Date.now() + SECOND_TRY_MS }));
    const passed = again?.results.some(
      ({ scenario, passed }) => passed && scenario === outcome.result.scenario,
    );
    if (passed === true)
      console.log(`${outcome.side} ${outcome.cell} ${outcome.result.scenario}: passed when run again`);
    else still.push(outcome);
  }
  return still;
}

async function runAll(cells: readonly Cell[]): Promise<CellResult[]> {
  const limits = { scenario: flags.scenario, deadline: Date.now() + BUDGET_MS };
  const done = new Map<Cell, CellResult>();
  const waiting = [...cells];
  const worker = async (): Promise<void> => {
    for (let cell = waiting.shift(); cell; cell = waiting.shift()) {
      const result = await runCell(cell, limits);
      done.set(cell, result);
      if (result.results.length > 0) console.log(summaryLine(result));
      if (flags.verbose) printScenarios(result);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return cells.flatMap((cell) => done.get(cell) ?? []);
}

function printScenarios({ cell, results }: CellResult): void {
  for (const result of results) {
    if (result.passed)
      console.log(`  pass ${result.scenario}${result.skipped ? ` (${result.skipped} skipped)` : ''}`);
    else printProblems(cell.side, cell.name, result);
  }
}

function printProblems(side: string, cell: string, result: CellResult['results'][number]): void {
  console.log(`FAIL ${side} ${cell} ${result.scenario}`);
  for (const problem of result.problems) console.log(`       ${problem}`);
}

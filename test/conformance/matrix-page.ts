import { readFile, writeFile } from 'node:fs/promises';
import { knownFailure } from './baseline.js';
import type { BaselineEntry } from './baseline.js';
import { REVISION, suiteEra } from './cells.js';
import type { Cell, CellResult } from './cells.js';

const INTRODUCTION = `# Conformance

Written by \`npm run conformance\`; do not edit. The official suite runs against our fixture servers and clients
directly, and then with the gateway in between. A check that ends in a warning counts as failed.

A column is named \`<client era>-<upstream era>\`. On the server side the suite is the client and a fixture server
the upstream; on the client side a fixture client is the client and the suite's mock server the upstream.

- **pass**: as good as without the gateway; \`(n skipped)\` when the suite left checks out
- **known**: does not pass, for the reason given below
- **FAIL**: does not pass and should
`;

/** Writes the matrix of a complete run to RESULTS.md beside this file. */
export async function writeMatrix(
  results: readonly CellResult[],
  baseline: readonly BaselineEntry[],
): Promise<void> {
  const tables = (['server', 'client'] as const).flatMap((side) =>
    (['legacy', 'modern'] as const).map((era) => {
      const columns = results.filter(({ cell }) => cell.side === side && suiteEra(cell) === era);
      return `## ${side === 'server' ? 'Server' : 'Client'} scenarios at ${REVISION[era]}\n\n${table(columns, baseline)}`;
    }),
  );
  const page = [
    INTRODUCTION,
    await versionLine(),
    ...tables,
    knownPart(baseline),
    failurePart(results, baseline),
  ];
  await writeFile(new URL('./RESULTS.md', import.meta.url), `${page.filter(Boolean).join('\n')}\n`);
}

/** `33/33 direct-legacy (server)` */
export function summaryLine({ cell, results }: CellResult): string {
  const passed = results.filter((result) => result.passed).length;
  return `${passed}/${results.length} ${cell.name} (${cell.side})`;
}

function table(columns: readonly CellResult[], baseline: readonly BaselineEntry[]): string {
  const scenarios = [...new Set(columns.flatMap(({ results }) => results.map((result) => result.scenario)))];
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const passes = columns.map(({ results }) => {
    const passed = results.filter((result) => result.passed).length;
    return `**${passed}/${results.length}**`;
  });
  return [
    row(['scenario', ...columns.map(({ cell }) => cell.name)]),
    row(['---', ...columns.map(() => '---')]),
    ...scenarios.map((scenario) =>
      row([scenario, ...columns.map((column) => verdict(column, scenario, baseline))]),
    ),
    row(['', ...passes]),
    '',
  ].join('\n');
}

function verdict(
  { cell, results }: CellResult,
  scenario: string,
  baseline: readonly BaselineEntry[],
): string {
  const result = results.find((candidate) => candidate.scenario === scenario);
  if (!result) return '';
  if (result.passed) return result.skipped > 0 ? `pass (${result.skipped} skipped)` : 'pass';
  return knownFailure(baseline, { side: cell.side, cell: cell.name }, scenario) ? 'known' : '**FAIL**';
}

function knownPart(baseline: readonly BaselineEntry[]): string {
  if (baseline.length === 0) return '';
  const lines = baseline.map(
    ({ side, cell, scenario, reason, issue }) =>
      `- ${place({ side, name: cell })} \`${scenario}\`: ${reason}${issue === null ? '' : ` (${issue})`}`,
  );
  return `## Known\n\n${lines.join('\n')}\n`;
}

function failurePart(results: readonly CellResult[], baseline: readonly BaselineEntry[]): string {
  const lines = results.flatMap(({ cell, results: outcomes }) =>
    outcomes
      .filter((result) => !result.passed)
      .filter((result) => !knownFailure(baseline, { side: cell.side, cell: cell.name }, result.scenario))
      .map((result) => `- ${place(cell)} \`${result.scenario}\`: ${result.problems.join('; ')}`),
  );
  return lines.length === 0 ? '' : `## Failing\n\n${lines.join('\n')}\n`;
}

function place({ side, name }: Pick<Cell, 'side' | 'name'>): string {
  return `${side}, ${name}:`;
}

async function versionLine(): Promise<string> {
  const names = ['conformance', 'sdk', 'server', 'client'];
  const versions = await Promise.all(
    names.map(async (name) => {
      const file = new URL(`../../node_modules/@modelcontextprotocol/${name}/package.json`, import.meta.url);
      const { version } = JSON.parse(await readFile(file, 'utf8')) as { version: string };
      return `\`@modelcontextprotocol/${name}\` ${version}`;
    }),
  );
  return `Versions: ${versions.join(', ')}.\n`;
}

import type { Era } from '../peers/catalogue/fixture-tool.js';
import { startGateway } from '../peers/gateway.js';
import { startLegacyServer } from '../peers/legacy-server.js';
import { startModernServer } from '../peers/modern-server.js';
import { ROOT, broken, listScenarios, runClientScenario, runServerScenarios } from './suite.js';
import type { ScenarioResult, Side } from './suite.js';

export const REVISION: Record<Era, string> = { legacy: '2025-11-25', modern: '2026-07-28' };

const ERAS: readonly Era[] = ['legacy', 'modern'];

/**
 * One column of the matrix. On the server side the suite is the client and our fixture server the upstream; on the
 * client side our fixture client is the client and the suite's mock server the upstream.
 */
export interface Cell {
  readonly side: Side;
  /** `<client era>-<upstream era>`, or `direct-<era>` without the gateway. */
  readonly name: string;
  readonly client: Era;
  readonly upstream: Era;
  readonly direct: boolean;
}

/** The era whose revision decides which scenarios of the suite a cell runs. */
export function suiteEra(cell: Cell): Era {
  return cell.side === 'server' ? cell.client : cell.upstream;
}

export const CELLS: readonly Cell[] = (['server', 'client'] as const).flatMap((side) => [
  ...ERAS.map((era): Cell => ({ side, name: `direct-${era}`, client: era, upstream: era, direct: true })),
  ...ERAS.flatMap((client) =>
    ERAS.map((upstream): Cell => ({ side, name: `${client}-${upstream}`, client, upstream, direct: false })),
  ),
]);

export interface CellResult {
  readonly cell: Cell;
  readonly results: readonly ScenarioResult[];
}

export interface RunLimits {
  /** Run this scenario alone. */
  readonly scenario: string | undefined;
  /** `Date.now()` after which nothing is started and what runs is given up. */
  readonly deadline: number;
}

/** No cell may use up the time of the others; one that works takes about 5 s (server) or 20 s (client). */
const CELL_MS = 80_000;

/** Timing-sensitive scenarios get a second attempt: they measure milliseconds on a machine that others use too. */
const TIMED = new Set(['sse-retry']);

/** Runs all scenarios of a cell; one that cannot start at all yields a failing result for each. */
export async function runCell(cell: Cell, { scenario: only, deadline }: RunLimits): Promise<CellResult> {
  const limits = { scenario: only, deadline: Math.min(deadline, Date.now() + CELL_MS) };
  const all = await listScenarios(cell.side, REVISION[suiteEra(cell)]);
  const scenarios = only === undefined ? all : all.filter((name) => name === only);
  if (scenarios.length === 0) return { cell, results: [] };
  try {
    const run = cell.side === 'server' ? runServerCell : runClientCell;
    return { cell, results: await run(cell, scenarios, limits) };
  } catch (error) {
    const problem = (error instanceof Error ? error.message : String(error)).replaceAll(ROOT, '');
    return { cell, results: scenarios.map((scenario) => broken(scenario, problem)) };
  }
}

async function runServerCell(
  cell: Cell,
  scenarios: readonly string[],
  { scenario, deadline }: RunLimits,
): Promise<ScenarioResult[]> {
  const upstream = await (cell.upstream === 'legacy' ? startLegacyServer() : startModernServer());
  try {
    const gateway = cell.direct ? undefined : await startGateway(upstream.url);
    try {
      const url = gateway?.url ?? upstream.url;
      return await runServerScenarios(url, REVISION[cell.client], scenarios, deadline, scenario);
    } finally {
      await gateway?.close();
    }
  } finally {
    await upstream.close();
  }
}

async function runClientCell(
  cell: Cell,
  scenarios: readonly string[],
  { deadline }: RunLimits,
): Promise<ScenarioResult[]> {
  const command = cell.direct
    ? `node --import tsx test/conformance/everything-client-${cell.client}.ts`
    : `node --import tsx test/conformance/client-through-gateway.ts ${cell.client}`;
  const results: ScenarioResult[] = [];
  for (const scenario of scenarios) {
    const attempt = (): Promise<ScenarioResult> =>
      runClientScenario(command, REVISION[cell.upstream], scenario, deadline);
    let result = await attempt();
    if (!result.passed && TIMED.has(scenario)) result = await attempt();
    results.push(result);
  }
  return results;
}

/**
 * CPU per unit of work of the built gateway, beside a bare koa + undici byte pipe in the same interleaved run.
 *
 *     npm run bench               full
 *     npm run bench -- --quick    under a minute
 *     npm run bench -- --only small --cpu-prof /tmp/profiles
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { BenchProcess } from './processes.js';
import { type Sample, page, table } from './report.js';
import { type Scenario, allScenarios } from './scenarios.js';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    target: { type: 'string' },
    rounds: { type: 'string' },
    'cpu-prof': { type: 'string' },
  },
});
const rounds = Number(values.rounds ?? (values.quick ? 3 : 9));
const share = values.quick ? 0.3 : 1;
const scenarios = allScenarios().filter(
  ({ group, target }) =>
    (values.only === undefined || values.only.split(',').includes(group)) &&
    (values.target === undefined || target.startsWith('pipe') || target === values.target),
);
const profile = values['cpu-prof'];
const flags = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];

const legacy = await BenchProcess.start('upstream-process.mjs');
const modern = await BenchProcess.start('upstream-process.mjs');
const gateway = await BenchProcess.start('gateway-process.mjs', flags);
const pipe = await BenchProcess.start('pipe-process.mjs');
const load = await BenchProcess.start('load-process.mjs');
const urls = {
  legacy: await legacy.ask<string>('start', 'legacy'),
  modern: await modern.ask<string>('start', 'modern'),
};
const ports = {
  gateway: await gateway.ask<number>('start', urls),
  pipe: await pipe.ask<number>('start', urls),
};

const samples = new Map<Scenario, Sample[]>(scenarios.map((scenario) => [scenario, []]));
// Compilers warm up first: what is measured is the steady state.
for (const scenario of scenarios) await measure(scenario, 0.5);
for (let round = 0; round < rounds; round++) {
  for (const scenario of scenarios) samples.get(scenario)?.push(await measure(scenario, share));
  process.stderr.write(`round ${round + 1} of ${rounds}\n`);
}
for (const process of [gateway, pipe, load, legacy, modern]) await process.stop();

process.stdout.write(table(samples));
if (values.only === undefined && values.target === undefined && profile === undefined) {
  writeFileSync(new URL('RESULTS.md', import.meta.url), page(samples, { rounds, quick: values.quick }));
}

async function measure(scenario: Scenario, portion: number): Promise<Sample> {
  const { through, upstream } = scenario;
  const measured = through === 'gateway' ? gateway : through === 'pipe' ? pipe : undefined;
  const peer = upstream === 'legacy' ? legacy : modern;
  // One question at a time to each process, and `direct` measures none.
  const processes = [load, peer, ...(measured === undefined ? [] : [measured])];
  const before = await Promise.all(processes.map((each) => each.cpu()));
  const { units, ms, p50 } = await load.ask<{ units: number; ms: number; p50?: number }>('run', {
    port: through === 'direct' ? Number(new URL(urls[upstream]).port) : ports[through],
    path: scenario.path,
    era: scenario.client,
    tool: scenario.tool,
    bytes: scenario.tool === 'large' ? 65_536 : scenario.tool === 'small' ? 1024 : 1,
    connections: scenario.connections,
    total: Math.max(scenario.connections, Math.round(scenario.total * portion)),
    ...(scenario.count !== undefined && { count: scenario.count }),
  });
  const after = await Promise.all(processes.map((each) => each.cpu()));
  const spent = after.map((value, i) => (value - (before[i] ?? 0)) / units);
  const [loadCpu = 0, peerCpu = 0, cpu = 0] = spent;
  return {
    cpu,
    loadCpu,
    peerCpu,
    busy: (cpu * units) / (ms * 1000),
    ms,
    units,
    ...(p50 !== undefined && { p50 }),
  };
}

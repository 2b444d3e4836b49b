/**
 * What the gateway costs: CPU per unit of work beside a bare koa + undici byte pipe, and memory and CPU of streams beside a
 * bare node:http server, each pair in the same interleaved run.
 *
 *     npm run bench               full, under ten minutes
 *     npm run bench -- --quick    under a minute
 *     npm run bench -- --only small,idle --target 'legacy → modern' --cpu-prof /tmp/profiles
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { CallBench } from './calls.js';
import { benchFanOut } from './fan-out.js';
import { benchGrowth } from './growth.js';
import { benchIdleStreams } from './idle-streams.js';
import { benchReplay } from './replay.js';
import { resultPage } from './result-page.js';
import { CALL_GROUPS } from './scenarios.js';
import { type RunOptions, type Section, printSection } from './section.js';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    target: { type: 'string' },
    rounds: { type: 'string' },
    'cpu-prof': { type: 'string' },
  },
});
const { quick, target } = values;
const profile = values['cpu-prof'];
const rounds = (usual: number, hurried: number): number => Number(values.rounds ?? (quick ? hurried : usual));
const options = (usual: number, hurried: number): RunOptions => ({
  quick,
  rounds: rounds(usual, hurried),
  target,
  gatewayFlags: profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`],
});

const STREAMS = {
  idle: () => benchIdleStreams(options(2, 1)),
  'fan-out': () => benchFanOut(options(10, 4)),
  replay: () => benchReplay(options(2, 1)),
  growth: () => benchGrowth(options(3, 1)),
};

const known = [...CALL_GROUPS, ...Object.keys(STREAMS)];
const wanted = values.only?.split(',') ?? known;
const unknown = wanted.filter((name) => !known.includes(name));
if (unknown.length > 0) throw new Error(`--only takes ${known.join(', ')}; not ${unknown.join(', ')}`);

const sections: Section[] = [];
const calls = CALL_GROUPS.filter((group) => wanted.includes(group));
if (calls.length > 0) add(await CallBench.run(calls, options(4, 2)));
for (const [name, run] of Object.entries(STREAMS)) if (wanted.includes(name)) add([await run()]);

if (values.only === undefined && target === undefined && profile === undefined) {
  const page = resultPage(sections, { quick, seconds: Math.round(performance.now() / 1000) });
  writeFileSync(new URL('RESULTS.md', import.meta.url), page);
}

function add(more: readonly Section[]): void {
  sections.push(...more);
  process.stdout.write(more.map(printSection).join(''));
}

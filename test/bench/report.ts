import { cpus } from 'node:os';
import type { Scenario } from './scenarios.js';

/** One measurement. CPU in microseconds per unit: a call, an event, a question. */
export interface Sample {
  readonly cpu: number;
  readonly loadCpu: number;
  readonly peerCpu: number;
  /** CPU time of the measured process by wall time. */
  readonly busy: number;
  readonly ms: number;
  readonly units: number;
  /** Milliseconds. */
  readonly p50?: number;
}

type Samples = ReadonlyMap<Scenario, readonly Sample[]>;

const TITLES: Readonly<Record<Scenario['group'], string>> = {
  small: 'A call of 1 KB each way, C = 16',
  large: 'A call of 64 KB each way, C = 16',
  events: 'A progress event of a streaming call, C = 4',
  questions: 'A call with one question, C = 32',
  latency: 'A call of 1 KB each way, C = 1',
};

/** What the ratios are meant to stay below, where there is an aim. */
const AIMS: Partial<Record<Scenario['group'], { same: number; cross: number }>> = {
  small: { same: 1.3, cross: 1.6 },
};

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

function of(samples: readonly Sample[], read: (sample: Sample) => number): number {
  return median(samples.map(read));
}

/**
 * The ratio to the floor: the median over rounds of the ratio within each round, so that whatever else the machine does
 * meets both sides. Of several pipes the cheaper one is the floor.
 */
function ratio(samples: Samples, scenario: Scenario): number | undefined {
  const floor = floorOf(samples, scenario);
  if (floor === undefined) return undefined;
  const own = samples.get(scenario) ?? [];
  return median(own.map(({ cpu }, round) => cpu / (floor[round]?.cpu ?? Number.NaN)));
}

/** The ratio of the least disturbed round of each: on a busy machine the steadier number. */
function leastRatio(samples: Samples, scenario: Scenario): number | undefined {
  const floor = floorOf(samples, scenario);
  return floor && least(samples.get(scenario) ?? []) / least(floor);
}

/** The ratio to the pipe as it is commonly written, which does not collect bodies. */
function streamRatio(samples: Samples, scenario: Scenario): number | undefined {
  if (scenario.through === 'direct') return undefined;
  const stream = [...samples].find(
    ([{ group, target }]) => group === scenario.group && target === 'pipe (stream)',
  )?.[1];
  const own = samples.get(scenario) ?? [];
  return stream && median(own.map(({ cpu }, round) => cpu / (stream[round]?.cpu ?? Number.NaN)));
}

function least(samples: readonly Sample[]): number {
  return Math.min(...samples.map(({ cpu }) => cpu));
}

function floorOf(samples: Samples, scenario: Scenario): readonly Sample[] | undefined {
  const floors = [...samples].filter(
    ([{ group, through }]) => group === scenario.group && through === 'pipe',
  );
  if (floors.length === 0 || scenario.through === 'direct') return undefined;
  const [, floor] = floors.reduce((a, b) =>
    of(a[1], ({ cpu }) => cpu) <= of(b[1], ({ cpu }) => cpu) ? a : b,
  );
  return floor;
}

/** The tables, one for each kind of work. */
export function table(samples: Samples): string {
  let text = '';
  for (const group of new Set([...samples.keys()].map((scenario) => scenario.group))) {
    text += `\n## ${TITLES[group]}\n\n`;
    text +=
      '| through | CPU µs | ratio to the cheaper pipe | ratio of the least | to the streaming pipe | per CPU second | per second | load CPU µs | upstream CPU µs |';
    text += group === 'latency' ? ' p50 ms |\n' : '\n';
    text += `|---|---|---|---|---|---|---|---|---|${group === 'latency' ? '---|' : ''}\n`;
    for (const [scenario, list] of samples) {
      if (scenario.group !== group) continue;
      const cpu = of(list, (sample) => sample.cpu);
      const relative = ratio(samples, scenario);
      const cells = [
        scenario.target,
        scenario.through === 'direct' ? '–' : cpu.toFixed(group === 'events' ? 2 : 0),
        relative === undefined ? '–' : `${relative.toFixed(2)}${mark(scenario, relative)}`,
        leastRatio(samples, scenario)?.toFixed(2) ?? '–',
        streamRatio(samples, scenario)?.toFixed(2) ?? '–',
        scenario.through === 'direct' ? '–' : String(Math.round(1e6 / cpu)),
        String(Math.round(of(list, ({ units, ms }) => (units * 1000) / ms))),
        of(list, ({ loadCpu }) => loadCpu).toFixed(group === 'events' ? 2 : 0),
        of(list, ({ peerCpu }) => peerCpu).toFixed(group === 'events' ? 2 : 0),
        ...(group === 'latency' ? [of(list, ({ p50 }) => p50 ?? Number.NaN).toFixed(2)] : []),
      ];
      text += `| ${cells.join(' | ')} |\n`;
    }
  }
  return text;
}

function mark({ group, through, client, upstream }: Scenario, relative: number): string {
  const aim = AIMS[group]?.[client === upstream ? 'same' : 'cross'];
  if (aim === undefined || through !== 'gateway') return '';
  return relative <= aim ? ` (aim ${aim})` : ` (aim ${aim}, **not met**)`;
}

/** The result page. */
export function page(samples: Samples, run: { rounds: number; quick: boolean }): string {
  const cpu = cpus();
  return `# What the gateway costs

Written by \`npm run bench${run.quick ? ' -- --quick' : ''}\`: node ${process.version}, ${cpu.length} × ${cpu[0]?.model ?? 'unknown'}, medians of ${run.rounds} interleaved rounds.

The gateway runs built, with every limit, log and timeout at its default. CPU is user and system time of its process
(\`process.cpuUsage\`) per unit of work. The pipe is koa and \`undici.request\` carrying bytes and nothing else, once with
bodies as streams and once collected; the cheaper one is the floor of the ratios, which are taken within each round;
the ratio of the least is that of the least disturbed round of each side.
Absolute numbers belong to the machine and to what else it did; ratios are what to compare. Load and upstreams are
processes of their own; their CPU stands beside, and where it is below the gateway's they do not bound it.
${table(samples)}`;
}

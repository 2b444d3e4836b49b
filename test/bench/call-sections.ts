import type { Scenario } from './scenarios.js';
import { type Section, median, withAim } from './section.js';

/** One measurement. CPU in microseconds per unit: a call, an event, a question. */
export interface Sample {
  readonly cpu: number;
  readonly loadCpu: number;
  readonly peerCpu: number;
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

const NOTES: Partial<Record<Scenario['group'], string>> = {
  questions:
    'The question is one round trip more: of a legacy client on a second connection while the call waits, of a modern one as a second call. `direct` is the same exchange without anything in between; a pipe carries that of its own era only.',
};

const HEAD = [
  'through',
  'CPU µs',
  'ratio to the cheaper pipe',
  'ratio of the least',
  'to the streaming pipe',
  'per CPU second',
  'per second',
  'load CPU µs',
  'upstream CPU µs',
];

/** What the ratios are meant to stay below, where there is an aim. */
const AIMS: Partial<Record<Scenario['group'], { same: number; cross: number }>> = {
  small: { same: 1.3, cross: 1.6 },
};

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
  if (scenario.through === 'direct' || scenario.group === 'questions') return undefined;
  const stream = [...samples].find(
    ([{ group, target }]) => group === scenario.group && target.startsWith('pipe (stream)'),
  )?.[1];
  const own = samples.get(scenario) ?? [];
  return stream && median(own.map(({ cpu }, round) => cpu / (stream[round]?.cpu ?? Number.NaN)));
}

function least(samples: readonly Sample[]): number {
  return Math.min(...samples.map(({ cpu }) => cpu));
}

function floorOf(samples: Samples, scenario: Scenario): readonly Sample[] | undefined {
  const floors = [...samples].filter(
    ([{ group, through, client }]) =>
      group === scenario.group && through === 'pipe' && (group !== 'questions' || client === scenario.client),
  );
  if (floors.length === 0 || scenario.through === 'direct') return undefined;
  const [, floor] = floors.reduce((a, b) =>
    of(a[1], ({ cpu }) => cpu) <= of(b[1], ({ cpu }) => cpu) ? a : b,
  );
  return floor;
}

/** The tables, one for each kind of work. */
export function callSections(samples: Samples): Section[] {
  const groups = new Set([...samples.keys()].map((scenario) => scenario.group));
  return [...groups].map((group) => ({
    title: TITLES[group],
    ...(NOTES[group] !== undefined && { note: NOTES[group] }),
    head: [...HEAD, ...(group === 'latency' ? ['p50 ms'] : [])],
    rows: [...samples]
      .filter(([scenario]) => scenario.group === group)
      .map(([scenario, list]) => row(samples, scenario, list)),
  }));
}

function row(samples: Samples, scenario: Scenario, list: readonly Sample[]): string[] {
  const { group, through, target } = scenario;
  const digits = group === 'events' ? 2 : 0;
  const cpu = of(list, (sample) => sample.cpu);
  const relative = ratio(samples, scenario);
  return [
    target,
    through === 'direct' ? '–' : cpu.toFixed(digits),
    relative === undefined ? '–' : withAim(relative, aimOf(scenario)),
    leastRatio(samples, scenario)?.toFixed(2) ?? '–',
    streamRatio(samples, scenario)?.toFixed(2) ?? '–',
    through === 'direct' ? '–' : String(Math.round(1e6 / cpu)),
    String(Math.round(of(list, ({ units, ms }) => (units * 1000) / ms))),
    of(list, ({ loadCpu }) => loadCpu).toFixed(digits),
    of(list, ({ peerCpu }) => peerCpu).toFixed(digits),
    ...(group === 'latency' ? [of(list, ({ p50 }) => p50 ?? Number.NaN).toFixed(2)] : []),
  ];
}

function aimOf({ group, through, client, upstream }: Scenario): number | undefined {
  return through === 'gateway' ? AIMS[group]?.[client === upstream ? 'same' : 'cross'] : undefined;
}

import { BenchProcess } from './processes.js';
import { type RunOptions, type Section, median, withAim } from './section.js';
import { BARE, PAIRED, ROOM_TEXT, SHARED, type StreamTarget, startTarget } from './stream-target.js';
import { UpstreamPair } from './upstream-pair.js';

/** What an idle stream may cost, times a bare server's. */
const AIM = 1.3;
/**
 * Streams opened and closed before the first look, so that code is compiled. They are few: what the heap grew to for more
 * of them would be there for the first ones measured, and make them look free.
 */
const WARM_UP = 200;
/** A target that holds two connections for each stream stays below the limit of descriptors. */
const MOST_PAIRED = 5000;

/** Bytes per stream at each size. */
interface Growth {
  readonly rss: readonly number[];
  readonly heap: readonly number[];
}

/** Memory per idle stream of the gateway, beside a bare node:http server that holds as many. */
export async function benchIdleStreams(options: RunOptions): Promise<Section> {
  const sizes = options.quick ? [500, 1000] : [1000, 5000, 10_000];
  const upstreams = await UpstreamPair.start();
  const paired = options.quick ? [] : PAIRED;
  const targets = [BARE, ...SHARED, ...paired].filter(
    ({ name, kind }) => options.target === undefined || kind === 'bare' || name === options.target,
  );
  const all = new Map<StreamTarget, Growth[]>(targets.map((target) => [target, []]));
  for (let round = 0; round < options.rounds; round++) {
    for (const target of targets) {
      const most = PAIRED.includes(target) ? MOST_PAIRED : Infinity;
      const within = sizes.filter((size) => size <= most);
      all.get(target)?.push(await grow(target, upstreams, within, options.gatewayFlags));
    }
  }
  await upstreams.stop();
  const bytes = (target: StreamTarget, read: (growth: Growth) => readonly number[], index: number): number =>
    median((all.get(target) ?? []).map((growth) => read(growth)[index] ?? Number.NaN));
  const rss = ({ rss }: Growth): readonly number[] => rss;
  /** What a stream costs beyond the first so many, when the process itself has grown. */
  const further = (target: StreamTarget): number => {
    const slopes = (all.get(target) ?? []).map(({ rss }) => {
      const [first = 0, least = 0] = [rss[0], sizes[0]];
      const most = sizes[rss.length - 1] ?? 0;
      return ((rss.at(-1) ?? 0) * most - first * least) / (most - least);
    });
    return median(slopes);
  };
  return {
    title: 'Memory of an idle stream',
    note:
      `Resident memory of the process above that without streams, by their number, garbage collected first; in a process of ` +
      `its own for each row, so that of a few streams the growth of the process itself is a part. In the first two cells one upstream stream serves all clients; in the others the gateway holds ` +
      `one upstream for each as well, and two connections where the floor has one. Each legacy stream is that of a session of its own. ${ROOM_TEXT}.`,
    head: [
      'held by',
      ...sizes.flatMap((size) => [`KB each of ${size}`, 'ratio']),
      'KB each further',
      'ratio',
      'heap KB each',
    ],
    rows: targets.map((target) => [
      target.name,
      ...sizes.flatMap((_, index) => {
        const own = bytes(target, rss, index);
        if (Number.isNaN(own)) return ['–', '–'];
        const ratio = own / bytes(BARE, rss, index);
        const aim = SHARED.includes(target) ? AIM : undefined;
        return [kb(own), target === BARE ? '1.00' : withAim(ratio, aim)];
      }),
      kb(further(target)),
      target === BARE ? '1.00' : (further(target) / further(BARE)).toFixed(2),
      kb(median((all.get(target) ?? []).map(({ heap }) => heap.at(-1) ?? Number.NaN))),
    ]),
  };
}

async function grow(
  target: StreamTarget,
  upstreams: UpstreamPair,
  sizes: readonly number[],
  flags: readonly string[],
): Promise<Growth> {
  const { process, port } = await startTarget(target, upstreams, ['--expose-gc', ...flags]);
  const load = await BenchProcess.start('stream-load-process.mjs');
  const open = (count: number): Promise<number> => load.ask('open', { ...target, port, count });
  await open(WARM_UP);
  if (target.kind === 'legacy') await load.ask('endSessions', { port, path: target.path, count: WARM_UP });
  await load.ask('close');
  await settled();
  const before = await process.ask<NodeJS.MemoryUsage>('memory');
  const rss: number[] = [];
  const heap: number[] = [];
  let opened = 0;
  for (const size of sizes) {
    opened = await open(size - opened);
    await settled();
    const now = await process.ask<NodeJS.MemoryUsage>('memory');
    rss.push((now.rss - before.rss) / size);
    heap.push((now.heapUsed - before.heapUsed) / size);
  }
  await load.stop();
  await process.stop();
  return { rss, heap };
}

/** Sockets close, and what was begun ends. */
function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 500));
}

function kb(bytes: number): string {
  return (bytes / 1024).toFixed(1);
}

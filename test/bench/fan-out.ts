import { BenchProcess } from './processes.js';
import { type RunOptions, type Section, median, withAim } from './section.js';
import { BARE, ROOM_TEXT, SHARED, type StreamTarget, startTarget } from './stream-target.js';
import { UpstreamPair } from './upstream-pair.js';

/** What telling one stream may cost, times a bare server's. */
const AIM = 1.3;
const RESOURCE = 'test://bench';
/** Bursts of one change are coalesced by the gateway; these are apart. */
const APART_MS = 450;

const TARGETS: readonly StreamTarget[] = [
  BARE,
  ...SHARED,
  ...SHARED.filter(({ kind }) => kind === 'legacy').map((target) => ({
    ...target,
    name: `${target.name}, resources/subscribe`,
    uri: RESOURCE,
  })),
];

interface Told {
  /** From the change to its arrival on the last stream. */
  readonly ms: number;
  /** CPU of the process that tells, in microseconds for each stream. */
  readonly cpu: number;
}

/** One change told to thousands of streams over one upstream stream, beside a bare server that writes to as many. */
export async function benchFanOut(options: RunOptions): Promise<Section> {
  const count = options.quick ? 500 : 5000;
  const changes = options.rounds;
  const upstreams = await UpstreamPair.start();
  const targets = TARGETS.filter(
    ({ name, kind }) => options.target === undefined || kind === 'bare' || name === options.target,
  );
  const ready = [];
  for (const target of targets) {
    const flags = target.kind === 'bare' ? [] : options.gatewayFlags;
    const { process, port } = await startTarget(target, upstreams, flags);
    const load = await BenchProcess.start('stream-load-process.mjs');
    await load.ask('open', { ...target, port, count });
    ready.push({ target, process, load, told: [] as Told[] });
  }
  for (let change = 0; change < changes + 2; change++) {
    for (const { target, process, load, told } of ready) {
      await new Promise((resolve) => setTimeout(resolve, APART_MS / ready.length));
      const one = await tell(target, process, load, upstreams, count);
      // Compilers warm up first.
      if (change >= 2) told.push(one);
    }
  }
  for (const { process, load } of ready) {
    await load.stop();
    await process.stop();
  }
  await upstreams.stop();
  const bare = ready.find(({ target }) => target === BARE)?.told ?? [];
  return {
    title: `One change told to ${count} streams`,
    note: `Medians of ${changes} changes, told to one target after the other. The gateway hears of the change on one upstream stream. ${ROOM_TEXT}.`,
    head: ['told by', 'CPU µs each', 'ratio', 'ms to the last', 'ratio'],
    rows: ready.map(({ target, told }) => [
      target.name,
      median(told.map(({ cpu }) => cpu)).toFixed(2),
      ...ratio(target, told, bare, ({ cpu }) => cpu, AIM),
      median(told.map(({ ms }) => ms)).toFixed(1),
      ...ratio(target, told, bare, ({ ms }) => ms),
    ]),
  };
}

function ratio(
  target: StreamTarget,
  own: readonly Told[],
  bare: readonly Told[],
  read: (told: Told) => number,
  aim?: number,
): string[] {
  if (target === BARE) return ['1.00'];
  // Within each change, so that whatever else the machine does meets both sides.
  return [withAim(median(own.map((told, i) => read(told) / read(bare[i] ?? told))), aim)];
}

async function tell(
  target: StreamTarget,
  process: BenchProcess,
  load: BenchProcess,
  upstreams: UpstreamPair,
  count: number,
): Promise<Told> {
  const method =
    target.uri === undefined ? 'notifications/tools/list_changed' : 'notifications/resources/updated';
  const params = target.uri === undefined ? '' : `"uri":"${target.uri}"`;
  await load.ask('expect', method);
  const before = await process.cpu();
  const at =
    target.upstream === undefined
      ? await process.ask<string>('tell', `id: s.1.1.abc\ndata: {"jsonrpc":"2.0","method":"${method}"}\n\n`)
      : await upstreams.processes[target.upstream].ask<string>('change', { method, params });
  const arrived = await load.ask<string>('arrived');
  const cpu = ((await process.cpu()) - before) / count;
  return { ms: Number(BigInt(arrived) - BigInt(at)) / 1e6, cpu };
}

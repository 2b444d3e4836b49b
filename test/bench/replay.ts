import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedis } from '../peers/redis-server.js';
import type { Era } from '../peers/wire-client.js';
import { BenchProcess } from './processes.js';
import { type RunOptions, type Section, median, withAim } from './section.js';
import { UpstreamPair } from './upstream-pair.js';

/** What replaying may cost, times receiving the same from the upstream itself. */
const AIM = 1.3;
/** The response is the last of the thousand that the log of a session keeps. */
const EVENTS = 999;
const WAIT_MS = 60;

interface Cost {
  /** Microseconds of CPU per event of the process that sends. */
  readonly cpu: number;
  /** Milliseconds for all events of one call. */
  readonly ms: number;
}

interface Row {
  readonly name: string;
  readonly costs: Cost[];
}

/** 1,000 events that were produced while nobody was attached, and are had by a GET. */
export async function benchReplay(options: RunOptions): Promise<Section> {
  const calls = options.quick ? 3 : 25;
  const upstreams = await UpstreamPair.start();
  const load = await BenchProcess.start('stream-load-process.mjs');
  const redis = await startRedis();
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  const stores: { name: string; settings: object }[] = [
    { name: 'memory', settings: {} },
    { name: 'sqlite', settings: { store: { kind: 'sqlite', path: join(folder, 'replay.db') } } },
    { name: 'redis', settings: { store: { kind: 'redis', url: redis.url } } },
  ];
  const direct: Row = { name: 'live, from the upstream itself', costs: [] };
  const rows: Row[] = [direct];
  const row = (name: string): Row => {
    let found = rows.find((each) => each.name === name);
    if (found === undefined) rows.push((found = { name, costs: [] }));
    return found;
  };
  const job = { calls, count: EVENTS, waitMs: WAIT_MS };
  // The first round warms up.
  for (let round = 0; round <= options.rounds; round++) {
    const take = (name: string, cost: Cost): void => {
      if (round > 0) row(name).costs.push(cost);
    };
    const own = { ...job, port: upstreams.port('legacy'), path: '/mcp' };
    take(direct.name, await costOf(upstreams.processes.legacy, calls, () => load.ask('live', own)));
    for (const { name, settings } of stores) {
      const start = async (): Promise<{ gateway: BenchProcess; port: number }> => {
        const gateway = await BenchProcess.start('gateway-process.mjs', options.gatewayFlags);
        return { gateway, port: await gateway.ask<number>('start', { ...upstreams.urls, ...settings }) };
      };
      const { gateway, port } = await start();
      for (const upstream of ['legacy', 'modern'] as const satisfies readonly Era[]) {
        const through = { ...job, port, path: `/mcp/${upstream}` };
        // The first calls of a process find nothing compiled.
        await load.ask('live', through);
        const live = await costOf(gateway, calls, () => load.ask('live', through));
        take(`live, through the gateway, ${upstream}, ${name}`, live);
        let away: unknown;
        const kept = await costOf(gateway, calls, async () => {
          const finished = await upstreams.processes[upstream].ask<number>('finished');
          const before = performance.now();
          away = await load.ask('beginAway', through);
          await untilFinished(upstreams.processes[upstream], finished + calls);
          return performance.now() - before;
        });
        take(`kept while away, ${upstream}, ${name}`, { ...kept, ms: Number.NaN });
        await settled();
        const resumed = () => load.ask<number>('resume', { ...through, away });
        take(`replayed, ${upstream}, ${name}`, await costOf(gateway, calls, resumed));
        // What was replayed once can be again.
        take(`replayed, ${upstream}, ${name}`, await costOf(gateway, calls, resumed));
      }
      await gateway.stop();
    }
  }
  await load.stop();
  await upstreams.stop();
  await redis.stop();
  rmSync(folder, { recursive: true });
  return section(rows, direct);
}

function section(rows: readonly Row[], direct: Row): Section {
  const ratio = (row: Row, read: (cost: Cost) => number): number =>
    median(row.costs.map((cost, i) => read(cost) / read(direct.costs[i % direct.costs.length] ?? cost)));
  return {
    title: 'Replay of 1,000 events',
    note:
      `${EVENTS} progress events and the response, of calls whose clients went away after the first, and came back with the id of the ` +
      `priming event when all was over; one call after the other. CPU is that of the process that sends, per event.`,
    head: ['how', 'CPU µs', 'ratio', 'ms per 1,000', 'ratio'],
    rows: rows.map((row) => {
      const aim = row.name.startsWith('replayed') ? AIM : undefined;
      const ms = median(row.costs.map(({ ms }) => ms));
      return [
        row.name,
        median(row.costs.map(({ cpu }) => cpu)).toFixed(2),
        withAim(
          ratio(row, ({ cpu }) => cpu),
          aim,
        ),
        Number.isNaN(ms) ? '–' : ms.toFixed(1),
        Number.isNaN(ms)
          ? '–'
          : withAim(
              ratio(row, ({ ms }) => ms),
              aim,
            ),
      ];
    }),
  };
}

async function costOf(process: BenchProcess, calls: number, run: () => Promise<number>): Promise<Cost> {
  const before = await process.cpu();
  const ms = await run();
  const cpu = (await process.cpu()) - before;
  return { cpu: cpu / calls / (EVENTS + 1), ms: ms / calls };
}

async function untilFinished(upstream: BenchProcess, wanted: number): Promise<void> {
  while ((await upstream.ask<number>('finished')) < wanted) await new Promise((done) => setTimeout(done, 10));
}

/** The last of what was produced is read, and is in the store. */
function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 150));
}

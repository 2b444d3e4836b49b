import { BenchProcess } from './processes.js';
import { type RunOptions, type Section, median, withAim } from './section.js';
import { ROOM_TEXT, type StreamTarget, startTarget } from './stream-target.js';
import { UpstreamPair } from './upstream-pair.js';
import type { Era } from '../peers/wire-client.js';

/** Nothing may grow with idle sessions but their own bytes. */
const AIM = 1.1;
const FEW = 10;
const CALLS = 2000;
const OPENED = 500;

interface Cell {
  readonly client: Era;
  readonly upstream: Era;
}

const CELLS: readonly Cell[] = [
  { client: 'legacy', upstream: 'modern' },
  { client: 'legacy', upstream: 'legacy' },
  { client: 'modern', upstream: 'legacy' },
];

/** What is done while so many sessions are idle. */
const WORKS = ['call', 'open and end a session'] as const;
type Work = (typeof WORKS)[number];

/** Cost and rate of work at each number of idle sessions: few, and many. */
interface Side {
  readonly process: BenchProcess;
  readonly port: number;
  readonly costs: Map<string, { cpu: number; perSecond: number }[]>;
}

/** Whether anything grows with the number of idle sessions. */
export async function benchGrowth(options: RunOptions): Promise<Section> {
  const many = options.quick ? 500 : 10_000;
  const share = options.quick ? 0.2 : 1;
  const upstreams = await UpstreamPair.start();
  const load = await BenchProcess.start('load-process.mjs');
  const clients = await BenchProcess.start('stream-load-process.mjs');
  const holder: StreamTarget = { name: 'gateway', kind: 'legacy', path: '' };
  const sides: Side[] = [];
  for (const idle of [FEW, many]) {
    const { process, port } = await startTarget(holder, upstreams, options.gatewayFlags);
    for (const upstream of ['legacy', 'modern'] as const) {
      await clients.ask('openSessions', { port, path: `/mcp/${upstream}`, count: idle / 2 });
    }
    // A modern client's session with a legacy upstream is the gateway's own; one for each credential.
    await clients.ask('meet', { port, path: '/mcp/legacy', count: idle / 2 });
    sides.push({ process, port, costs: new Map() });
  }
  for (let round = 0; round <= options.rounds; round++) {
    for (const cell of CELLS) {
      for (const work of WORKS) {
        for (const side of sides) {
          const one = await measure(side, cell, work, { load, clients, share });
          const list = side.costs.get(keyOf(cell, work)) ?? [];
          if (round > 0) list.push(one);
          side.costs.set(keyOf(cell, work), list);
        }
      }
    }
  }
  for (const { process } of sides) await process.stop();
  await load.stop();
  await clients.stop();
  await upstreams.stop();
  const [few, lots] = sides;
  return {
    title: `Growth: ${FEW} and ${many} idle sessions`,
    note: `CPU per unit of two gateways in the same interleaved run, of which one holds ${FEW} sessions and the other ${many}, and as many upstream sessions. ${ROOM_TEXT}.`,
    head: ['cell', 'work', `CPU µs with ${FEW}`, `with ${many}`, 'ratio', `per second with ${many}`],
    rows: CELLS.flatMap((cell) =>
      WORKS.map((work) => {
        const small = few?.costs.get(keyOf(cell, work)) ?? [];
        const large = lots?.costs.get(keyOf(cell, work)) ?? [];
        return [
          `${cell.client} → ${cell.upstream}`,
          cell.client === 'modern' && work !== 'call' ? 'first call of a credential' : work,
          median(small.map(({ cpu }) => cpu)).toFixed(0),
          median(large.map(({ cpu }) => cpu)).toFixed(0),
          withAim(median(large.map(({ cpu }, i) => cpu / (small[i]?.cpu ?? Number.NaN))), AIM),
          median(large.map(({ perSecond }) => perSecond)).toFixed(0),
        ];
      }),
    ),
  };
}

function keyOf({ client, upstream }: Cell, work: Work): string {
  return `${client} ${upstream} ${work}`;
}

async function measure(
  { process, port }: Side,
  { client, upstream }: Cell,
  work: Work,
  { load, clients, share }: { load: BenchProcess; clients: BenchProcess; share: number },
): Promise<{ cpu: number; perSecond: number }> {
  const path = `/mcp/${upstream}`;
  const units = Math.round((work === 'call' ? CALLS : OPENED) * share);
  const before = await process.cpu();
  const began = performance.now();
  if (work === 'call') {
    const job = { port, path, era: client, tool: 'small', bytes: 1024, connections: 16, total: units };
    await load.ask('run', job);
  } else if (client === 'legacy') {
    await clients.ask('openSessions', { port, path, count: units });
    await clients.ask('endSessions', { port, path, count: units });
  } else {
    await clients.ask('meet', { port, path, count: units });
  }
  const ms = performance.now() - began;
  return { cpu: ((await process.cpu()) - before) / units, perSecond: (units * 1000) / ms };
}

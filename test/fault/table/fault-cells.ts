import type { Era } from '../../peers/wire-client.js';

export type StoreKind = 'memory' | 'sqlite' | 'redis';

/** What goes wrong. */
export const FAULTS = [
  'gateway killed',
  'upstream killed',
  "client's socket cut without FIN",
  "upstream's socket cut without FIN",
  'reader stalls, and reads on',
  'reader stalls for good',
  'store full',
  'Redis frozen, and thawed',
  'Redis killed, and started again',
  'clock an hour forward',
  'clock an hour back',
] as const;
export type Fault = (typeof FAULTS)[number];

/** The stores each is tried on: all on which the outcome could be another. */
export const STORES_OF: Readonly<Record<Fault, readonly StoreKind[]>> = {
  'gateway killed': ['memory', 'sqlite', 'redis'],
  'upstream killed': ['memory'],
  "client's socket cut without FIN": ['memory'],
  "upstream's socket cut without FIN": ['memory'],
  'reader stalls, and reads on': ['memory', 'sqlite'],
  'reader stalls for good': ['memory'],
  'store full': ['sqlite', 'redis'],
  'Redis frozen, and thawed': ['redis'],
  'Redis killed, and started again': ['redis'],
  'clock an hour forward': ['memory', 'sqlite', 'redis'],
  'clock an hour back': ['memory', 'sqlite', 'redis'],
};

/** How a call that was running ends, on both sides. */
export interface Fate {
  readonly client: string;
  readonly upstream: string;
}

export interface FaultCell {
  readonly fault: Fault;
  readonly store: StoreKind;
  readonly client: Era;
  readonly upstream: Era;
}

/** What the client sees. */
export const AT_CLIENT = {
  result: 'the result',
  resumed: 'the result, when it resumes',
  delayed: 'the result, once the store is back',
  unknown: 'error -31003, outcome unknown',
  unknownResumed: 'error -31003, outcome unknown, when it resumes',
  late: 'error -31001, timed out',
  sessionLost: 'its connection breaks, its session is 404',
  cut: 'its connection breaks',
  nothing: 'nothing, until it gives up by itself',
} as const;

/** What the upstream sees. */
export const AT_UPSTREAM = {
  gone: 'gone',
  cut: 'its connection breaks',
  runs: 'nothing: the call runs on',
  paused: 'it is not read until the client reads',
  cancelled: '`notifications/cancelled`',
  closed: 'its response stream is closed',
  unheard: 'nothing: the path to it is dead',
} as const;

const C = AT_CLIENT;
const U = AT_UPSTREAM;

/** What has to come of it. */
export function fateOf({ fault, store, client, upstream }: FaultCell): Fate {
  const legacy = client === 'legacy';
  const stopped = upstream === 'legacy' ? U.cancelled : U.closed;
  switch (fault) {
    case 'gateway killed':
      if (!legacy) return { client: C.cut, upstream: U.cut };
      return { client: store === 'memory' ? C.sessionLost : C.unknownResumed, upstream: U.cut };
    case 'upstream killed':
      return { client: C.unknown, upstream: U.gone };
    case "client's socket cut without FIN":
      return { client: legacy ? C.resumed : C.nothing, upstream: U.runs };
    case "upstream's socket cut without FIN":
      return { client: C.late, upstream: upstream === 'legacy' ? U.cancelled : U.unheard };
    case 'reader stalls, and reads on':
      return legacy ? { client: C.resumed, upstream: U.runs } : { client: C.result, upstream: U.paused };
    case 'reader stalls for good':
      return legacy ? { client: C.resumed, upstream: U.runs } : { client: C.cut, upstream: stopped };
    case 'store full':
    case 'Redis frozen, and thawed':
    case 'Redis killed, and started again':
      return { client: legacy ? C.delayed : C.result, upstream: U.runs };
    case 'clock an hour forward':
    case 'clock an hour back':
      return { client: C.result, upstream: U.runs };
  }
}

const ERAS: readonly Era[] = ['legacy', 'modern'];

/** The four cells of one row. */
export function cellsOf(fault: Fault, store: StoreKind): FaultCell[] {
  return ERAS.flatMap((client) => ERAS.map((upstream) => ({ fault, store, client, upstream })));
}

const HEAD = [
  '| fault | store | legacy → legacy | legacy → modern | modern → legacy | modern → modern |',
  '|---|---|---|---|---|---|',
];

/** One row for each fault and store. */
export function faultTable(fate: (cell: FaultCell) => Fate, faults: readonly Fault[] = FAULTS): string {
  const rows = faults.flatMap((fault) =>
    STORES_OF[fault].map((store) => {
      const columns = cellsOf(fault, store).map((cell) => {
        const { client, upstream } = fate(cell);
        return `${client}<br>_upstream:_ ${upstream}`;
      });
      return `| ${[fault, store, ...columns].join(' | ')} |`;
    }),
  );
  return [...HEAD, ...rows, ''].join('\n');
}

const INTRODUCTION = `# Faults

What becomes of a call that is running when something breaks: first what its client sees, then what the upstream sees. A
column is the client's era → the upstream's. \`npm run faults\` lets every one of these really happen and prints the table of
what it saw; it fails when that is another than this one, which is printed from the same expectations
(\`npm run docs:faults\`).

In every cell it is also checked that

- the call was told of its progress in order, each once, over all its connections;
- other clients are served meanwhile, unless what broke is what serves them;
- afterwards calls succeed again, without a restart of the gateway.

How each is done:

- **Gateway killed**: SIGKILL; another process is started with the same store. **Upstream killed**: its connections break and
  its port closes; it comes back without its sessions.
- **Socket cut without FIN**: a relay in between stops forwarding and closes nothing. New connections pass. The gateway cannot
  know of a peer that is silent; what it sends is acknowledged by nobody, so a dead client is noticed after
  \`timeouts.stallMs\` when more waits for it than its connection takes, else by the system. A legacy client that connects
  again gets its stream at once. A modern client sends its request again, when it may be run again. Of an upstream that is
  silent the gateway gives a call up after \`timeouts.callMs\`, one that was sent on an idle connection which is dead too as well.
- **Reader stalls**: it takes nothing while the upstream says 30 MB. A legacy client is cut off and finds everything in the
  log, as far as \`replay\` allows; for a modern one the upstream is not read on, and after \`timeouts.stallMs\` its call is
  cancelled.
- **Store full**: on SQLite every write fails (RLIMIT_FSIZE), on Redis every write is refused (\`maxmemory\`). What is not kept
  is not told: new requests of legacy clients are answered 503 with -31015 meanwhile, and running calls wait. Redis is frozen
  with SIGSTOP, or killed with SIGKILL and started again from its append-only file.
- **Clock**: \`Date\` of the gateway's process jumps during the call; an idle session and an event id from before are used after
  it. The gateway measures time with a clock that does not jump.

`;

/** The page with the table of what has to come. */
export function faultPage(): string {
  return `${INTRODUCTION}<!-- prettier-ignore-start -->\n${faultTable(fateOf)}<!-- prettier-ignore-end -->\n`;
}

import { CELLS, ERAS } from '../peers/cells.js';
import type { Era } from '../peers/wire-client.js';

/** What one measurement runs. */
export interface Scenario {
  /** The row of the result page it belongs to. */
  readonly group: 'small' | 'large' | 'events' | 'questions' | 'latency';
  readonly target: string;
  /** `direct` measures no process in between. */
  readonly through: 'gateway' | 'pipe' | 'direct';
  readonly path: string;
  readonly client: Era;
  readonly upstream: Era;
  readonly tool: 'small' | 'large' | 'events' | 'ask';
  readonly connections: number;
  /** Calls in one full round. */
  readonly total: number;
  /** Events of one call. */
  readonly count?: number;
}

interface Work {
  readonly group: Scenario['group'];
  readonly tool: Scenario['tool'];
  readonly connections: number;
  readonly total: number;
  readonly count?: number;
}

const EVENTS = 500;

const WORK: readonly Work[] = [
  { group: 'small', tool: 'small', connections: 16, total: 3000 },
  { group: 'large', tool: 'large', connections: 16, total: 600 },
  { group: 'events', tool: 'events', connections: 4, total: 40, count: EVENTS },
  { group: 'questions', tool: 'ask', connections: 32, total: 600 },
  { group: 'latency', tool: 'small', connections: 1, total: 400 },
];

/** The kinds of work. */
export const CALL_GROUPS = WORK.map(({ group }) => group);

/** The ways to carry bytes; the cheaper one is the floor. */
const PIPES = ['stream', 'collect'] as const;

export function allScenarios(): Scenario[] {
  return WORK.flatMap((work) => [...pipes(work), ...cells(work), ...direct(work)]);
}

function cells(work: Work): Scenario[] {
  return CELLS.map(({ client, upstream }) => ({
    ...work,
    target: `${client} → ${upstream}`,
    through: 'gateway',
    path: `/mcp/${upstream}`,
    client,
    upstream,
  }));
}

function pipes(work: Work): Scenario[] {
  // A question goes out before its answer comes: what collects bodies cannot carry one of a legacy server.
  const ways = work.group === 'events' || work.group === 'questions' ? (['stream'] as const) : PIPES;
  const eras = work.group === 'questions' ? ERAS : (['modern'] as const);
  return ways.flatMap((way) =>
    eras.map((era) => ({
      ...work,
      target: work.group === 'questions' ? `pipe (${way}), ${era}` : `pipe (${way})`,
      through: 'pipe' as const,
      path: `/${way}/${era}`,
      client: era,
      upstream: era,
    })),
  );
}

/** The same exchange without anything in between. */
function direct(work: Work): Scenario[] {
  if (work.group !== 'latency' && work.group !== 'questions') return [];
  return ERAS.filter((era) => era === 'modern' || work.group === 'questions').map((era) => ({
    ...work,
    target: work.group === 'questions' ? `direct, ${era}` : 'direct',
    through: 'direct',
    path: '/mcp',
    client: era,
    upstream: era,
  }));
}

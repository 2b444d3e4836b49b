import type { Era } from '../peers/wire-client.js';

/** When it happens. */
export const PHASES = [
  'before headers',
  'while streaming',
  'while a question is open',
  'while parked',
  'during the retry',
  'same tick as the result',
  'after the end',
] as const;
export type Phase = (typeof PHASES)[number];

/** What happens. */
export const CAUSES = ['client cancels', 'client vanishes', 'upstream vanishes', 'timeout'] as const;
export type Cause = (typeof CAUSES)[number];

/** How it ends, on both sides. `undefined`: this cannot happen. */
export interface Fate {
  readonly client: string;
  readonly upstream: string;
}

export interface Cell {
  readonly client: Era;
  readonly upstream: Era;
  readonly phase: Phase;
  readonly cause: Cause;
  readonly fate: Fate | undefined;
}

/** What the client sees. */
export const AT_CLIENT = {
  silence: 'its stream ends without a response',
  gone: 'gone',
  lost: 'gone; it never learnt of a stream, so the result is lost',
  resumed: 'the result, when it resumes',
  unknown: 'error -31003, outcome unknown',
  late: 'error -31001, timed out',
  unanswered: 'error -31010, no answer',
  expired: 'a later retry is refused, -32602',
  result: 'the result',
  either: 'the result or none, never two',
  resultOrError: 'the result or error -31001, never both',
} as const;

/** What the upstream sees. */
export const AT_UPSTREAM = {
  cancelled: '`notifications/cancelled` with its own id',
  closed: 'its response stream is closed',
  runs: 'nothing: the call runs on',
  idle: 'nothing: no request of it is open',
  refused: 'an error instead of the answer; the call runs on',
  gone: 'gone',
  finished: 'nothing more than that it had finished, or is cancelled',
  over: 'nothing',
} as const;

const C = AT_CLIENT;
const U = AT_UPSTREAM;

/** How an upstream of this era learns that its call is not wanted any more. */
function stopped(upstream: Era): string {
  return upstream === 'legacy' ? U.cancelled : U.closed;
}

/** The call is running, at whatever point: with headers sent or not, the first time or again. */
function running(client: Era, upstream: Era, cause: Cause, streaming: boolean): Fate {
  switch (cause) {
    case 'client cancels':
      return { client: client === 'legacy' ? C.silence : C.gone, upstream: stopped(upstream) };
    case 'client vanishes':
      if (client === 'modern') return { client: C.gone, upstream: stopped(upstream) };
      return { client: streaming ? C.resumed : C.lost, upstream: U.runs };
    case 'upstream vanishes':
      return { client: C.unknown, upstream: U.gone };
    case 'timeout':
      return { client: C.late, upstream: stopped(upstream) };
  }
}

/** A legacy client has a question on its stream. */
function asking(upstream: Era, cause: Cause): Fate | undefined {
  const legacy = upstream === 'legacy';
  switch (cause) {
    case 'client cancels':
      return { client: C.silence, upstream: legacy ? U.cancelled : U.idle };
    case 'client vanishes':
      return { client: C.resumed, upstream: legacy ? U.runs : U.idle };
    case 'upstream vanishes':
      return legacy ? { client: C.unknown, upstream: U.gone } : undefined;
    case 'timeout':
      return legacy ? { client: C.result, upstream: U.refused } : { client: C.unanswered, upstream: U.idle };
  }
}

function parked(cause: Cause): Fate {
  return cause === 'upstream vanishes'
    ? { client: C.unknown, upstream: U.gone }
    : { client: C.expired, upstream: U.cancelled };
}

function sameTick(client: Era, cause: Cause): Fate {
  switch (cause) {
    case 'client cancels':
      return { client: client === 'legacy' ? C.either : C.gone, upstream: U.finished };
    case 'client vanishes':
      return { client: client === 'legacy' ? C.resumed : C.gone, upstream: U.finished };
    case 'upstream vanishes':
      return { client: C.result, upstream: U.gone };
    case 'timeout':
      return { client: C.resultOrError, upstream: U.finished };
  }
}

function fateOf(client: Era, upstream: Era, phase: Phase, cause: Cause): Fate | undefined {
  switch (phase) {
    case 'before headers':
      return running(client, upstream, cause, false);
    case 'while streaming':
    case 'during the retry':
      return running(client, upstream, cause, true);
    case 'while a question is open':
      return client === 'modern' ? undefined : asking(upstream, cause);
    case 'while parked':
      return client === 'modern' && upstream === 'legacy' ? parked(cause) : undefined;
    case 'same tick as the result':
      return sameTick(client, cause);
    case 'after the end':
      return { client: C.result, upstream: U.over };
  }
}

/** The whole matrix. */
export function cancellationCells(client: Era, upstream: Era): Cell[] {
  return PHASES.flatMap((phase) =>
    CAUSES.map((cause) => ({ client, upstream, phase, cause, fate: fateOf(client, upstream, phase, cause) })),
  );
}

const INTRODUCTION = `In each cell: what the client sees, and below it what the server sees. A cell with a dash cannot happen: only a modern
client of a legacy server is parked, and it is whenever it has a question; a modern server that asked has nothing open.

- A legacy client cancels with \`notifications/cancelled\`; losing its connection cancels nothing. A modern client cancels
  by closing its response, and vanishing is the same thing.
- "Server vanishes" is a cut connection. A legacy server that numbers its events is asked to resume its stream first;
  only without event ids, or when that is refused, is the outcome unknown. A \`tools/call\` is never sent again.
- A legacy client with a question open is also told that the question is withdrawn, and a legacy server gets an error
  for the question it asked once it has heard of the cancellation.
- Timeouts are \`timeouts.callMs\` without a sign of life, \`timeouts.callMaxMs\` in total, \`timeouts.questionMs\` for a legacy
  client's answer, and \`timeouts.parkMs\` for a modern client's retry.
- A notification that names an unknown, finished or foreign request is answered 202 and ignored.
`;

/** The matrix as MIGRATION.md shows it. */
export function cancellationTables(eras: readonly Era[]): string {
  const sections = eras.flatMap((client) =>
    eras.map((upstream) => {
      const cells = cancellationCells(client, upstream);
      const rows = PHASES.flatMap((phase) => {
        const fates = cells.filter((cell) => cell.phase === phase).map(({ fate }) => fate);
        if (fates.every((fate) => fate === undefined)) return [];
        const columns = fates.map((fate) =>
          fate === undefined ? '—' : `${fate.client}<br>_server:_ ${fate.upstream}`,
        );
        return [`| ${[phase, ...columns].join(' | ')} |`];
      });
      return [
        `**${client === 'legacy' ? 'Legacy' : 'Modern'} client, ${upstream} server**`,
        '',
        `| | ${CAUSES.join(' | ').replace('upstream', 'server')} |`,
        `|---|${CAUSES.map(() => '---|').join('')}`,
        ...rows,
        '',
      ].join('\n');
    }),
  );
  return [INTRODUCTION, ...sections].join('\n');
}

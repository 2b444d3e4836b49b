import type { StoredStream } from './store.js';
import type { StoredEvent, StreamKind } from './stream-log.js';

/** What a store keeps of a stream besides its events. */
export interface StreamRow {
  readonly id: number;
  readonly kind: StreamKind;
  /** JSON array of the raw ids of the requests it was opened for. */
  readonly requests: string;
  /** JSON object: sequence numbers of responses that had to go, by the raw id of their request. */
  readonly lost: string;
  readonly last: number;
  readonly lastLost: number;
  readonly shown: number;
  readonly ended: number | null;
}

/**
 * Puts a stream together from what was read.
 * @param events in order; undefined for a record that is not what was written. Nothing behind it counts: a client told of
 *   later events would never learn of the gap.
 */
export function storedStream(row: StreamRow, events: readonly (StoredEvent | undefined)[]): StoredStream {
  const requests = parsed(row.requests) as string[] | undefined;
  const lost = parsed(row.lost) as Record<string, number> | undefined;
  const end = events.indexOf(undefined);
  const readable = (end < 0 ? events : events.slice(0, end)).filter((event) => event !== undefined);
  const answered = new Set(readable.map(({ request }) => request));
  const gone = new Map(Object.entries(lost ?? {}));
  const highest = Math.max(0, ...events.map((event) => event?.sequence ?? 0));
  return {
    id: row.id,
    kind: row.kind,
    open: (requests ?? []).filter((id) => !answered.has(id) && !gone.has(id)),
    lost: gone,
    events: readable,
    last: Math.max(row.last, highest) + (end < 0 ? 0 : events.length - end),
    shown: row.shown,
    lastLost: row.lastLost,
    ...(row.ended !== null && { endedAt: row.ended }),
    damaged: end >= 0 || requests === undefined || lost === undefined,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

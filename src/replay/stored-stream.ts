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
  const requests = parsed(row.requests);
  const lost = parsed(row.lost);
  if (!isWhole(row) || !isTexts(requests) || !isNumbers(lost)) return unreadable(row);
  const end = events.indexOf(undefined);
  const readable = (end < 0 ? events : events.slice(0, end)).filter((event) => event !== undefined);
  const answered = new Set(readable.map(({ request }) => request));
  const gone = new Map(Object.entries(lost));
  const highest = Math.max(0, ...events.map((event) => event?.sequence ?? 0));
  return {
    id: row.id,
    kind: row.kind,
    open: requests.filter((id) => !answered.has(id) && !gone.has(id)),
    lost: gone,
    events: readable,
    last: Math.max(row.last, highest) + (end < 0 ? 0 : events.length - end),
    shown: row.shown,
    lastLost: row.lastLost,
    ...(row.ended !== null && { endedAt: row.ended }),
    damaged: end >= 0,
    readable: true,
  };
}

/** Without its row nobody knows what its events were for: the whole stream is as good as unknown. */
function unreadable({ id }: StreamRow): StoredStream {
  const nothing = { open: [], lost: new Map<string, number>(), events: [], last: 0, shown: 0, lastLost: 0 };
  return { ...nothing, id, kind: 'post', damaged: true, readable: false };
}

function isWhole({ kind, last, lastLost, shown, ended }: StreamRow): boolean {
  const counts = [last, lastLost, shown, ended ?? 0];
  return (kind === 'post' || kind === 'standalone') && counts.every(isCount);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}

function isNumbers(value: unknown): value is Record<string, number> {
  return typeof value === 'object' && value !== null && Object.values(value).every(isCount);
}

/** Sequence numbers and times; what is no such number would spoil every number computed from it. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

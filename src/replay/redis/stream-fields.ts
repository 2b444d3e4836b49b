import { checksum } from '../checksum.js';
import type { StoredStream } from '../store.js';
import { isCount, storedStream } from '../stored-stream.js';
import type { StoredEvent, StreamKind } from '../stream-log.js';

type Fields = Readonly<Record<string, string>>;

/** An entry of a Redis stream. */
export interface LogEntry {
  readonly id: string;
  readonly message: Fields;
}

/** Stands for a log that is none. */
export const UNREADABLE_LOG: LogEntry[] = [{ id: '1-0', message: {} }];

/** The numbers of the streams in a session's hash of streams, in order. */
export function streamNumbers(fields: Fields): number[] {
  const numbers = Object.keys(fields).flatMap((field) => /^(\d+) kind$/.exec(field)?.[1] ?? []);
  return numbers.map(Number).sort((a, b) => a - b);
}

/** Puts a stream together from the hash of streams and its own log. */
export function readStream(id: number, fields: Fields, entries: readonly LogEntry[]): StoredStream {
  const value = (name: string) => fields[`${id} ${name}`];
  const named = (name: string) => {
    const prefix = `${id} ${name} `;
    return Object.entries(fields)
      .filter(([field]) => field.startsWith(prefix))
      .map(([field, text]): [string, number] => [field.slice(prefix.length), Number(text)]);
  };
  const settled = new Set(named('settled').map(([request]) => request));
  const ended = value('ended');
  const stream = storedStream(
    {
      id,
      kind: value('kind') as StreamKind,
      requests: value('requests') ?? '',
      lost: JSON.stringify(Object.fromEntries(named('lost'))),
      last: Number(value('last') ?? 0),
      lastLost: Number(value('lastLost') ?? 0),
      shown: Number(value('shown') ?? 0),
      ended: ended === undefined ? null : Number(ended),
    },
    entries.map(readEvent),
  );
  return { ...stream, open: stream.open.filter((request) => !settled.has(request)) };
}

function readEvent({ id, message }: LogEntry): StoredEvent | undefined {
  const { json, at, pinned, request } = message;
  const sequence = Number(id.split('-')[0]);
  if (json === undefined || String(checksum(json)) !== message['checksum']) return undefined;
  if (!isCount(sequence) || !isCount(Number(at))) return undefined;
  return {
    sequence,
    json,
    at: Number(at),
    pinned: pinned === '1',
    ...(request !== undefined && request !== '' && { request }),
  };
}

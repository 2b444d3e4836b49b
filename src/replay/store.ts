import type { SessionRecord } from '../sessions/session-record.js';
import type { StoredEvent, StreamKind } from './stream-log.js';

/**
 * Where sessions and the logs of their streams are kept. What is alive about them (connections, running requests, the
 * atomic step from replay to live) stays in the process; a store is told of every change, in order, and is read when a
 * client shows a session this process does not hold.
 */
export interface Store {
  /** Part of every event id; new whenever what was stored before is lost. Visible ASCII without ".". */
  readonly epoch: string;
  /**
   * The number of this run of the gateway in the life of the store. Ids of streams and questions begin with it, so that
   * no two runs give out the same. 0 when nothing outlives the process.
   */
  readonly run: number;
  /** Whether anything outlives the process. */
  readonly persistent: boolean;
  /** Whether writes arrive now; while they do not, they wait in memory, in order. */
  readonly available: boolean;
  /** Whether so much waits that what can be done without should not be added. */
  readonly full: boolean;
  /**
   * Takes a change. Returns true when it is kept already; otherwise calls `kept` as soon as it is, in the order of the
   * changes. A client is told nothing whose change is not kept: what it has seen is never lost.
   */
  write(change: Change, kept?: () => void): boolean;
  /**
   * Reads a session with all its streams, to go on with it here; or the name of the living instance that holds it.
   * @throws GatewayError the store cannot be reached
   */
  load(session: string): Promise<StoredSession | { readonly heldBy: string } | undefined>;
  /** Called with the key of a session whose changes are refused: another instance has it, or it is gone. */
  onLost: (session: string) => void;
  /** Resolves when everything written so far is kept, or after `ms` milliseconds. */
  drained(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** One change to what is kept. `session` is a session's key, `stream` a stream's number. */
export type Change =
  | { readonly kind: 'session'; readonly record: SessionRecord; readonly at: number }
  /** The client was here. */
  | { readonly kind: 'seen'; readonly session: string; readonly at: number }
  /** The session is over: nothing of it stays. */
  | { readonly kind: 'end'; readonly session: string }
  /** Sessions that neither were seen since, nor begun since, are over. Times in milliseconds since the epoch. */
  | { readonly kind: 'expire'; readonly seenBefore: number; readonly createdBefore: number }
  | StreamChange;

/** One change to the log of a stream. */
export type StreamChange =
  /** `requests`: raw ids of the requests whose responses it will carry. */
  | (OfStream & {
      readonly kind: 'open';
      readonly streamKind: StreamKind;
      readonly requests: readonly string[];
    })
  | (OfStream & { readonly kind: 'event'; readonly event: StoredEvent })
  /** A question was answered or withdrawn: its event is one like any other. */
  | (OfStream & { readonly kind: 'unpin'; readonly sequence: number })
  /** A request ended without a response. */
  | (OfStream & { readonly kind: 'settle'; readonly request: string })
  /** These events had to go; of responses it is remembered that they did. */
  | (OfStream & { readonly kind: 'drop'; readonly events: readonly StoredEvent[] })
  /** Everything up to `sequence` was sent to some connection. Kept for streams that a client can join without an id. */
  | (OfStream & { readonly kind: 'shown'; readonly sequence: number })
  /** The last response was appended. `at` in milliseconds since the epoch. */
  | (OfStream & { readonly kind: 'finish'; readonly at: number })
  /** Everything behind `after` is unreadable and goes. */
  | (OfStream & { readonly kind: 'cut'; readonly after: number })
  | (OfStream & { readonly kind: 'forget' });

interface OfStream {
  readonly session: string;
  readonly stream: number;
}

/** A session as it was read from a store. */
export interface StoredSession {
  readonly record: SessionRecord;
  /** Milliseconds since the epoch. */
  readonly lastSeen: number;
  readonly streams: readonly StoredStream[];
}

/** A stream's log as it was read from a store. */
export interface StoredStream {
  readonly id: number;
  readonly kind: StreamKind;
  /** Raw ids of the requests that have no response in the log and lost none. */
  readonly open: readonly string[];
  /** Sequence numbers of responses that had to go, by the raw id of their request. */
  readonly lost: ReadonlyMap<string, number>;
  /** In order. */
  readonly events: readonly StoredEvent[];
  /** Highest sequence number there ever was. */
  readonly last: number;
  /** Highest sequence number sent to some connection, as far as it is known. */
  readonly shown: number;
  /** Highest sequence number of an event, other than a response, that had to go; 0 for none. */
  readonly lastLost: number;
  /** Milliseconds since the epoch. */
  readonly endedAt?: number;
  /** A record could not be read. What is here is what came before it. */
  readonly damaged: boolean;
  /** False: what is stored of the stream itself cannot be read, and nothing is known of it. */
  readonly readable: boolean;
}

/** The number of a run in the number of a stream. Both stay exact: at most 2^21 runs of 2^32 streams. */
export const STREAMS_PER_RUN = 2 ** 32;

/** The store cannot be opened; the message tells what to do. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

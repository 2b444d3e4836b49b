import { GATEWAY_CODE } from '../errors/gateway-error.js';
import { printError } from '../jsonrpc/print.js';
import type { EventIds } from './event-id.js';
import { MemoryStore } from './memory-store.js';
import { STREAMS_PER_RUN, type Store, type StoredStream, type StreamChange } from './store.js';
import { type StoredEvent, StreamLog, type StreamKind } from './stream-log.js';

/** Bounds of one session's buffer. */
export interface ReplayLimits {
  /** How long an event can be replayed, in milliseconds from its creation. */
  readonly maxAgeMs: number;
  readonly maxEvents: number;
  readonly maxBytes: number;
  /** Bytes over all sessions. */
  readonly maxTotalBytes: number;
  /** Bytes that may wait for a reader that does not read. */
  readonly streamBufferBytes: number;
  /** How long a client is told to wait before it connects again, in milliseconds. */
  readonly retryMs: number;
}

/** Who hears of the connections of a buffer's streams. */
export interface BufferObserver {
  /** The stream lost its connection while its requests run on. */
  detached(stream: StreamLog): void;
  attached(stream: StreamLog): void;
}

/** Bytes kept by all buffers of a process. */
export class ReplayTotal {
  bytes = 0;
  /** Notifications dropped because a bound was reached. */
  dropped = 0;
}

/** Where a resuming client stands. */
export type Resumption =
  | { readonly kind: 'found'; readonly stream: StreamLog; readonly after: number }
  /** A stream of this session whose events are gone. `requests`: raw ids of requests that will get no response from it. */
  | { readonly kind: 'expired'; readonly stream: StreamKind; readonly requests: readonly string[] };

const MAX_TOMBSTONES = 1000;
/**
 * Room between the numbers of events a store gave back and those of later ones: more than can have been given out and
 * lost with the system's last writes.
 */
const RESTORE_GAP = 2 ** 20;
const IN_MEMORY = { store: new MemoryStore(), session: '' };
let lastStream = 0;

/** A stream whose events are gone: what it was, and the sequence number of the response to each request. */
interface Tombstone {
  readonly kind: StreamKind;
  readonly responses: ReadonlyMap<string, number>;
}

/** A change before it is said whose it is. */
type Unaddressed<T> = T extends unknown ? Omit<T, 'session'> : never;

type MayGo = (event: StoredEvent, stream: StreamLog) => boolean;

/** What goes when a bound is reached: notifications, responses the client was sent, other responses, open questions. */
const EVICTION_ORDER: readonly MayGo[] = [
  (event) => !event.pinned,
  (event, stream) => event.request !== undefined && stream.wrote(event),
  (event) => event.request !== undefined,
  () => true,
];

/** What a client has seen, or can do without. */
const DISPENSABLE: ReadonlySet<MayGo> = new Set(EVICTION_ORDER.slice(0, 2));

/** Events from which on a log is long. */
const LONG_LOG = 256;
/** Events that one change drops at most: changes travel to a store many at a time. */
const DROPS = 64;
/** Of a long log this part is dropped at a time. */
const SPARE_SHARE = 16;

/**
 * The streams of one session and their stored events, bounded in time, number and bytes. Notifications go first when
 * a bound is reached; a response that has to go is remembered, so that its request still gets an answer.
 */
export class ReplayBuffer {
  private readonly streams = new Map<number, StreamLog>();
  private tombstones: Map<number, Tombstone> | undefined;
  private count = 0;
  private bytes = 0;

  constructor(
    readonly ids: EventIds,
    readonly limits: ReplayLimits,
    private readonly total: ReplayTotal,
    private readonly observer: BufferObserver,
    /** Where the logs are kept, and under which key the session is. */
    private readonly home: { readonly store: Store; readonly session: string } = IN_MEMORY,
  ) {}

  /**
   * Opens a stream. Stream numbers are unique in the store, so no session's id fits another's stream.
   * @param requests raw ids of the requests whose responses it will carry
   */
  open(kind: StreamKind, requests: readonly string[] = []): StreamLog {
    lastStream++;
    const stream = new StreamLog(this, this.home.store.run * STREAMS_PER_RUN + lastStream, kind);
    this.streams.set(stream.id, stream);
    stream.open(requests);
    return stream;
  }

  /** Takes over a stream that was read from the store. */
  restore(stored: StoredStream): StreamLog {
    const stream = new StreamLog(this, stored.id, stored.kind);
    this.streams.set(stream.id, stream);
    stream.restore(stored, RESTORE_GAP);
    for (const event of stored.events) {
      stream.events.push(event);
      this.add(event);
    }
    return stream;
  }

  /** Tells the store of a change. Returns whether it has it already; otherwise `kept` is called when it does. */
  record(change: Unaddressed<StreamChange>, kept?: () => void): boolean {
    if (!this.home.store.persistent) return true;
    return this.home.store.write({ ...change, session: this.home.session }, kept);
  }

  /** Whether the store is so far behind that notifications are dropped. */
  get storeIsFull(): boolean {
    if (!this.home.store.full) return false;
    this.total.dropped++;
    return true;
  }

  /** Finds the place an event id names. Undefined: unknown, foreign, malformed, or of another run. */
  find(eventId: string): Resumption | undefined {
    const cursor = this.ids.read(eventId);
    if (cursor === undefined) return undefined;
    const stream = this.streams.get(cursor.stream);
    if (stream !== undefined) {
      return stream.gaveOut(cursor.sequence) ? { kind: 'found', stream, after: cursor.sequence } : undefined;
    }
    const tombstone = this.tombstones?.get(cursor.stream);
    if (tombstone === undefined) return undefined;
    const missing = [...tombstone.responses].filter(([, sequence]) => sequence > cursor.sequence);
    return { kind: 'expired', stream: tombstone.kind, requests: missing.map(([request]) => request) };
  }

  keep(stream: StreamLog, event: StoredEvent): void {
    stream.events.push(event);
    this.add(event);
    const { maxEvents, maxBytes, maxTotalBytes } = this.limits;
    const full = () => this.count > maxEvents || this.bytes > maxBytes || this.total.bytes > maxTotalBytes;
    for (const mayGo of EVICTION_ORDER) {
      if (!full()) return;
      this.evict(full, mayGo);
    }
  }

  /** Drops what is older than the bound. */
  expire(now: number): void {
    const before = now - this.limits.maxAgeMs;
    for (const stream of this.streams.values()) {
      if ((stream.events[0]?.at ?? now) < before) this.dropOld(stream, before);
      if (stream.endedAt !== undefined && stream.endedAt < before && !stream.attached) this.bury(stream);
    }
  }

  /**
   * Ends all streams and forgets all events.
   * @param flush give what waits for the store to whoever is connected
   */
  clear(flush = true): void {
    for (const stream of this.streams.values()) {
      stream.close(flush);
      this.empty(stream);
    }
    this.streams.clear();
    this.tombstones = undefined;
  }

  get hasConnections(): boolean {
    for (const stream of this.streams.values()) if (stream.attached) return true;
    return false;
  }

  /** The answer to a request whose response is gone. */
  evictedError(request: string): string {
    return printError(
      request,
      GATEWAY_CODE.responseEvicted,
      'the response is no longer in the replay buffer; the request has run',
    );
  }

  detached(stream: StreamLog): void {
    this.observer.detached(stream);
  }

  attached(stream: StreamLog): void {
    this.observer.attached(stream);
  }

  /** Forgets a stream nobody can come back to. */
  forget(stream: StreamLog): void {
    this.streams.delete(stream.id);
    this.empty(stream);
    this.record({ kind: 'forget', stream: stream.id });
  }

  private bury(stream: StreamLog): void {
    this.streams.delete(stream.id);
    this.dropWhere(stream, () => true);
    const tombstones = (this.tombstones ??= new Map<number, Tombstone>());
    tombstones.set(stream.id, { kind: stream.kind, responses: new Map(stream.evicted) });
    const oldest = tombstones.keys().next();
    if (tombstones.size <= MAX_TOMBSTONES || oldest.done === true) return;
    tombstones.delete(oldest.value);
    this.record({ kind: 'forget', stream: oldest.value });
  }

  private empty(stream: StreamLog): void {
    for (const event of stream.events) this.subtract(event);
    stream.events.length = 0;
  }

  private dropOld(stream: StreamLog, before: number): void {
    this.dropWhere(stream, (event) => event.at < before && !isOpenQuestion(event));
  }

  /**
   * Drops events of one kind until there is room again: the oldest first, whatever their stream. Finding them takes a look
   * at the whole log, so of what a client can do without a long log drops some more at once: once full it would otherwise be
   * looked through for every single event.
   */
  private evict(full: () => boolean, mayGo: MayGo): void {
    const spare = this.count >= LONG_LOG && DISPENSABLE.has(mayGo) ? Math.floor(this.count / SPARE_SHARE) : 0;
    const enough = this.count - spare;
    const done = (): boolean => !full() && this.count <= enough;
    const [only, another] = this.streams.values();
    if (only !== undefined && another === undefined) {
      this.dropWhere(only, (event) => !done() && mayGo(event, only));
      return;
    }
    const candidates: { stream: StreamLog; event: StoredEvent }[] = [];
    for (const stream of this.streams.values()) {
      for (const event of stream.events) if (mayGo(event, stream)) candidates.push({ stream, event });
    }
    candidates.sort((a, b) => a.event.at - b.event.at);
    for (const { stream, event } of candidates) {
      if (done()) return;
      this.drop(stream, stream.events.indexOf(event), event);
    }
  }

  /** Drops the events of one stream that a test picks out, which sees each with those before it gone. */
  private dropWhere(stream: StreamLog, test: (event: StoredEvent) => boolean): void {
    const dropped: StoredEvent[] = [];
    let kept = 0;
    for (const event of stream.events) {
      if (test(event)) {
        dropped.push(event);
        this.dropped(stream, event);
      } else {
        stream.events[kept] = event;
        kept++;
      }
    }
    stream.events.length = kept;
    for (let first = 0; first < dropped.length; first += DROPS) {
      this.record({ kind: 'drop', stream: stream.id, events: dropped.slice(first, first + DROPS) });
    }
  }

  private drop(stream: StreamLog, index: number, event: StoredEvent): void {
    stream.events.splice(index, 1);
    this.dropped(stream, event);
    this.record({ kind: 'drop', stream: stream.id, events: [event] });
  }

  private dropped(stream: StreamLog, event: StoredEvent): void {
    this.subtract(event);
    stream.lost(event);
    if (event.request === undefined) this.total.dropped++;
  }

  private add(event: StoredEvent): void {
    this.count++;
    this.bytes += event.json.length;
    this.total.bytes += event.json.length;
  }

  private subtract(event: StoredEvent): void {
    this.count--;
    this.bytes -= event.json.length;
    this.total.bytes -= event.json.length;
  }
}

/** A question stays until it is answered or withdrawn; its own bound is the question's, not the buffer's. */
function isOpenQuestion(event: StoredEvent): boolean {
  return event.pinned && event.request === undefined;
}

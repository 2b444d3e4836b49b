import { now } from '../clock/clock.js';
import type { EventSink } from '../http/port.js';
import { encodeEvent, encodePriming, encodeRetry } from '../sse/event-encoder.js';
import type { ReplayBuffer } from './replay-buffer.js';
import type { StoredStream } from './store.js';

/** One stored event. */
export interface StoredEvent {
  readonly sequence: number;
  readonly json: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** A response or an open question: evicted last. */
  pinned: boolean;
  /** The raw id of the request this is the response to. */
  readonly request?: string;
}

const NONE_LOST: ReadonlyMap<string, number> = new Map();

/** What a stream was opened for. */
export type StreamKind = 'post' | 'standalone';

/**
 * A downstream stream: a log of events first, and a connection, perhaps none, second.
 * It outlives its connections; each later one is served the events the client has not seen, in order, and then the
 * live ones, and going over from the one to the other happens in one synchronous step.
 * @see /specification/2025-11-25/basic/transports#resumability-and-redelivery
 */
export class StreamLog {
  readonly events: StoredEvent[] = [];
  private next = 1;
  /** Highest sequence number written to any connection. */
  private written = 0;
  /** Sequence number of the last event written to the present connection, or that its client had before. */
  private position = 0;
  private sink: EventSink | undefined;
  /** The connection is full: events wait in the log until it has drained. */
  private full = false;
  /** The present connection has had everything there was at some time; before, it is still catching up. */
  private live = false;
  /** Bytes of the events that came while a live connection was full. */
  private behind = 0;
  private pollTimer: NodeJS.Timeout | undefined;
  /** Events on their way to the store; they enter the log when it has them. */
  private pending: StoredEvent[] | undefined;
  /** Whether the store has the stream itself: before, no id of it is given out. */
  private opened = false;
  /** The present connection waits for its priming event until the stream is opened. */
  private primingDue = false;
  /** Cancels what runs for this stream: used when too many run without a connection. */
  abandon: (() => void) | undefined;
  private lostResponses: Map<string, number> | undefined;
  /** Sequence number of the newest event, other than a response, that had to go. */
  private lastLost = 0;
  /** Milliseconds since the epoch when the last response was appended; the stream takes no more then. */
  endedAt: number | undefined;

  constructor(
    private readonly buffer: ReplayBuffer,
    readonly id: number,
    readonly kind: StreamKind,
  ) {}

  /** Enters a new stream into the store. @param requests raw ids of the requests whose responses it will carry */
  open(requests: readonly string[]): void {
    const kept = this.buffer.record({ kind: 'open', stream: this.id, streamKind: this.kind, requests }, () =>
      this.isOpened(),
    );
    if (kept) this.isOpened();
  }

  /**
   * Goes on with a log that was read from the store.
   * @param gap how far the numbers of new events are from those of old ones. An id that was given out and is not in the
   *   store, as after a power failure, then lies before everything new.
   */
  restore(stored: StoredStream, gap: number): void {
    this.opened = true;
    this.next = stored.last + 1 + gap;
    this.written = stored.shown;
    this.lastLost = stored.lastLost;
    this.endedAt = stored.endedAt;
    if (stored.lost.size > 0) this.lostResponses = new Map(stored.lost);
  }

  get attached(): boolean {
    return this.sink?.open === true;
  }

  /** Raw ids of requests whose stored response had to go, with its sequence number. */
  get evicted(): ReadonlyMap<string, number> {
    return this.lostResponses ?? NONE_LOST;
  }

  /** Whether this event was ever written to a connection. */
  wrote(event: StoredEvent): boolean {
    return event.sequence <= this.written;
  }

  /** Whether this stream has given out an id with this sequence number. */
  gaveOut(sequence: number): boolean {
    return sequence < this.next;
  }

  /** Whether a client that has everything up to `sequence` missed an event that no longer exists. */
  lostSince(sequence: number): boolean {
    return sequence < this.lastLost;
  }

  /** Takes note that a bound took an event out of the log. */
  lost(event: StoredEvent): void {
    if (event.request !== undefined)
      (this.lostResponses ??= new Map<string, number>()).set(event.request, event.sequence);
    else this.lastLost = Math.max(this.lastLost, event.sequence);
  }

  /**
   * Appends an event and writes it to the connection, if there is one.
   * @param keep.pinned evict it after all others
   * @param keep.request raw id of the request it is the response to; implies `pinned`
   */
  append(json: string, keep: { pinned?: boolean; request?: string } = {}): StoredEvent {
    const { request } = keep;
    const event: StoredEvent = {
      sequence: this.next++,
      json,
      at: now(),
      pinned: keep.pinned ?? request !== undefined,
      ...(request !== undefined && { request }),
    };
    if (!event.pinned && this.buffer.storeIsFull) {
      this.next--;
      return event;
    }
    const kept = this.buffer.record({ kind: 'event', stream: this.id, event }, () => {
      if (this.pending?.[0] !== event) return;
      this.pending.shift();
      this.enter(event);
    });
    if (kept) this.enter(event);
    else (this.pending ??= []).push(event);
    return event;
  }

  /** No more events will come: the connection is ended behind the last one. */
  finish(): void {
    const at = now();
    const finished = () => {
      this.endedAt = at;
      clearTimeout(this.pollTimer);
      this.endBehindLast();
    };
    if (this.buffer.record({ kind: 'finish', stream: this.id, at }, finished)) finished();
  }

  /** A request of this stream has ended. @param answered whether it got a response */
  settle(request: string, answered: boolean): void {
    if (!answered) this.buffer.record({ kind: 'settle', stream: this.id, request });
  }

  /** A question was answered or withdrawn: its event is one like any other now. */
  unpin(event: StoredEvent): void {
    if (!event.pinned) return;
    event.pinned = false;
    this.buffer.record({ kind: 'unpin', stream: this.id, sequence: event.sequence });
  }

  /** Serves a connection from the first event not written to any. */
  attachFresh(sink: EventSink, priming: boolean): void {
    this.attach(sink, this.written, priming);
  }

  /**
   * Serves a connection with everything behind `after`, then live. An older connection of this stream is ended.
   * @param priming send the client a cursor first
   */
  attach(sink: EventSink, after: number, priming: boolean): void {
    this.replaceSink(sink);
    this.position = after;
    this.primingDue = priming;
    if (this.opened) this.prime();
    this.catchUp();
  }

  /**
   * Closes the connection after `ms` milliseconds, telling the client to come back after `retryMs`: the stream goes on.
   * @see /specification/2025-11-25/basic/transports#sending-messages-to-the-server
   */
  pollAfter(ms: number, retryMs: number): void {
    clearTimeout(this.pollTimer);
    if (this.endedAt !== undefined) return;
    this.pollTimer = setTimeout(() => {
      const { sink } = this;
      if (sink === undefined || this.endedAt !== undefined) return;
      this.detach();
      sink.send(encodeRetry(retryMs));
      sink.end();
      this.buffer.detached(this);
    }, ms);
    this.pollTimer.unref();
  }

  /**
   * Cuts the connection, if there is one.
   * @param flush give it what waits for the store first: the log ends here and has nothing to keep
   */
  close(flush: boolean): void {
    clearTimeout(this.pollTimer);
    const waiting = this.pending ?? [];
    this.pending = undefined;
    if (flush) for (const event of waiting) this.enter(event);
    const { sink } = this;
    this.detach();
    sink?.end();
  }

  private isOpened(): void {
    this.opened = true;
    this.prime();
  }

  private prime(): void {
    if (!this.primingDue) return;
    this.primingDue = false;
    this.sink?.send(encodePriming(this.eventId(this.position), this.buffer.limits.retryMs));
  }

  /** The event is in the store: it becomes part of the log, and goes to the connection. */
  private enter(event: StoredEvent): void {
    // Written before it is stored: an event beyond the log's bounds still reaches whoever is there.
    if (!this.full) this.write(event);
    else if (this.live) this.behind += event.json.length;
    this.buffer.keep(this, event);
    // Who was live and reads too slowly is cut off: the log has what was not read, and the client resumes. From there on it
    // is fed out of the log at its own pace, since being cut off again would bring it no further; the log is bounded.
    if (this.behind > this.buffer.limits.streamBufferBytes) this.sink?.destroy();
  }

  private detach(): void {
    this.sink = undefined;
    this.full = false;
    this.live = false;
    this.behind = 0;
    this.primingDue = false;
  }

  private replaceSink(sink: EventSink): void {
    const old = this.sink;
    this.detach();
    this.sink = sink;
    old?.end();
    this.buffer.attached(this);
    sink.onClose(() => {
      if (this.sink !== sink) return;
      this.detach();
      clearTimeout(this.pollTimer);
      if (this.endedAt === undefined) this.buffer.detached(this);
    });
  }

  /** Writes what the connection has not had, as far as it takes it; goes on by itself when it has drained. */
  private catchUp(): void {
    let first = this.events.length;
    while (first > 0 && (this.events[first - 1]?.sequence ?? 0) > this.position) first--;
    // A copy: what is written may end the connection, and what that sets off may change the log.
    for (const event of this.events.slice(first)) {
      this.writeEvictedUntil(event.sequence);
      if (this.full || this.sink === undefined) return;
      this.write(event);
    }
    this.writeEvictedUntil(this.next);
    if (!this.full && this.sink !== undefined) this.live = true;
    this.endBehindLast();
  }

  /** In place of each response that had to go: an error under its id, so that the client need not wait for ever. */
  private writeEvictedUntil(end: number): void {
    if (this.lostResponses === undefined) return;
    const missing = [...this.lostResponses].sort(([, a], [, b]) => a - b);
    for (const [request, sequence] of missing) {
      if (this.full || this.sink === undefined) return;
      if (sequence <= this.position || sequence >= end) continue;
      this.send(sequence, this.buffer.evictedError(request));
    }
  }

  private write(event: StoredEvent): void {
    if (this.sink === undefined) return;
    if (event.sequence > this.written) {
      this.written = event.sequence;
      // Only this stream can be joined without an id, and must then go on where the last connection was.
      if (this.kind === 'standalone')
        this.buffer.record({ kind: 'shown', stream: this.id, sequence: this.written });
    }
    this.send(event.sequence, event.json);
  }

  private send(sequence: number, json: string): void {
    const { sink } = this;
    if (sink === undefined) return;
    this.position = sequence;
    if (sink.send(encodeEvent(json, this.eventId(sequence)))) return;
    this.full = true;
    sink.onDrain(() => {
      if (this.sink !== sink) return;
      this.full = false;
      this.behind = 0;
      this.catchUp();
    });
  }

  private endBehindLast(): void {
    const { sink } = this;
    if (sink === undefined || this.full || this.endedAt === undefined) return;
    this.detach();
    sink.end();
  }

  private eventId(sequence: number): string {
    return this.buffer.ids.print({ stream: this.id, sequence });
  }
}

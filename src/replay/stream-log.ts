import type { EventSink } from '../http/port.js';
import { encodeEvent, encodePriming, encodeRetry } from '../sse/event-encoder.js';
import type { ReplayBuffer } from './replay-buffer.js';

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
  private sink: EventSink | undefined;
  private pollTimer: NodeJS.Timeout | undefined;
  /** Cancels what runs for this stream: used when too many run without a connection. */
  abandon: (() => void) | undefined;
  /** Raw ids of the requests whose responses belong to this stream. */
  readonly requests = new Set<string>();
  /** Raw ids of requests whose stored response had to go, with its sequence number. */
  readonly evicted = new Map<string, number>();
  /** Milliseconds since the epoch when the last response was appended; the stream takes no more then. */
  endedAt: number | undefined;

  constructor(
    private readonly buffer: ReplayBuffer,
    readonly id: number,
    readonly kind: StreamKind,
  ) {}

  get attached(): boolean {
    return this.sink?.open === true;
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
      at: Date.now(),
      pinned: keep.pinned ?? request !== undefined,
      ...(request !== undefined && { request }),
    };
    this.buffer.keep(this, event);
    this.write(event);
    return event;
  }

  /** No more events will come: the connection is ended behind the last one. */
  finish(): void {
    this.endedAt = Date.now();
    clearTimeout(this.pollTimer);
    this.sink?.end();
    this.sink = undefined;
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
    if (priming) sink.send(encodePriming(this.eventId(after), this.buffer.limits.retryMs));
    for (const event of this.events) {
      if (event.sequence > after) this.write(event);
    }
    for (const [request, sequence] of this.evicted) {
      if (sequence > after) sink.send(encodeEvent(this.buffer.evictedError(request)));
    }
    if (this.endedAt !== undefined) {
      sink.end();
      this.sink = undefined;
    }
  }

  /**
   * Closes the connection after `ms` milliseconds, telling the client to come back after `retryMs`: the stream goes on.
   * @see /specification/2025-11-25/basic/transports#sending-messages-to-the-server
   */
  pollAfter(ms: number, retryMs: number): void {
    clearTimeout(this.pollTimer);
    this.pollTimer = setTimeout(() => {
      const { sink } = this;
      if (sink === undefined || this.endedAt !== undefined) return;
      this.sink = undefined;
      sink.send(encodeRetry(retryMs));
      sink.end();
      this.buffer.detached(this);
    }, ms);
    this.pollTimer.unref();
  }

  /** Cuts the connection, if there is one. */
  close(): void {
    clearTimeout(this.pollTimer);
    this.sink?.end();
    this.sink = undefined;
  }

  private replaceSink(sink: EventSink): void {
    const old = this.sink;
    this.sink = sink;
    old?.end();
    this.buffer.attached(this);
    sink.onClose(() => {
      if (this.sink !== sink) return;
      this.sink = undefined;
      clearTimeout(this.pollTimer);
      if (this.endedAt === undefined) this.buffer.detached(this);
    });
  }

  private write(event: StoredEvent): void {
    const { sink } = this;
    if (sink === undefined) return;
    this.written = Math.max(this.written, event.sequence);
    sink.send(encodeEvent(event.json, this.eventId(event.sequence)));
    // Whoever reads too slowly is cut off: the log has what was not read, and the client resumes.
    if (sink.bufferedBytes > this.buffer.limits.streamBufferBytes) sink.destroy();
  }

  private eventId(sequence: number): string {
    return this.buffer.ids.print({ stream: this.id, sequence });
  }
}

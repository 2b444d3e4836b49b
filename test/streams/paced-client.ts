import type { EventSink } from '../../src/http/port.js';
import { EventDecoder } from '../../src/sse/event-decoder.js';

/** Bytes that may wait for a reader before its sink says that it is full. */
export const BUFFER_BYTES = 200;

/** What a reader has really had, in order. */
export interface Taken {
  readonly id: string | undefined;
  /** Empty for a priming event. */
  readonly data: string;
}

/** A connection whose reader takes bytes when the test says so. */
export class PacedSink implements EventSink {
  open = true;
  readonly taken: Taken[] = [];
  private queue = '';
  private drains: (() => void)[] = [];
  private closes: (() => void)[] = [];
  private readonly decoder = new EventDecoder(
    { onEvent: (data, id) => void this.taken.push({ id, data }) },
    1 << 20,
  );

  get bufferedBytes(): number {
    return this.queue.length;
  }

  send(block: string): boolean {
    if (!this.open) return false;
    this.queue += block;
    return this.queue.length <= BUFFER_BYTES;
  }

  onDrain(listener: () => void): void {
    this.drains.push(listener);
  }

  onClose(listener: () => void): void {
    if (this.open) this.closes.push(listener);
    else listener();
  }

  /** The reader takes everything that waits. */
  read(): void {
    this.decoder.feed(Buffer.from(this.queue));
    this.queue = '';
    for (const listener of this.drains.splice(0)) listener();
  }

  /** Ended properly: what was sent arrives. */
  end(): void {
    if (!this.open) return;
    this.decoder.feed(Buffer.from(this.queue));
    this.shut();
  }

  /** Cut: what waits is lost. */
  destroy(): void {
    if (this.open) this.shut();
  }

  private shut(): void {
    this.queue = '';
    this.open = false;
    for (const listener of this.closes.splice(0)) listener();
    for (const listener of this.drains.splice(0)) listener();
  }
}

/** A client of one stream: what it got over all its connections, and where it stands. */
export class ResumingClient {
  readonly got: string[] = [];
  sink: PacedSink | undefined;
  private seen = 0;

  /** @param cursor the id it would resume from; a client that was sent none yet has an empty one */
  constructor(public cursor = '') {}

  /** Takes in what the present connection has delivered so far. */
  collect(): void {
    const { sink } = this;
    if (sink === undefined) return;
    for (const { id, data } of sink.taken.slice(this.seen)) {
      if (data !== '') this.got.push(data);
      if (id !== undefined) this.cursor = id;
    }
    this.seen = sink.taken.length;
  }

  connect(sink: PacedSink): void {
    this.collect();
    this.sink = sink;
    this.seen = 0;
  }
}

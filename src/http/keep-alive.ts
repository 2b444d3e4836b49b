/** What the keep-alive timer needs of an open stream. */
export interface KeptAlive {
  /** When something was last written, on the clock of `performance.now()`. */
  readonly lastWriteAt: number;
  readonly bufferedBytes: number;
  /** Writes a comment. */
  comment(): void;
}

/** Looks at the streams this often within one interval. */
const TICKS = 8;

/**
 * One timer for all open streams (a timer for each costs more than the stream). A comment leaves after at most
 * `keepAliveMs` of silence: intermediaries cut connections without bytes, and a dead peer is only noticed by
 * sending.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#authoring-notes
 */
export class KeepAlive {
  readonly #streams = new Set<KeptAlive>();
  readonly #tickMs: number;
  readonly #silenceMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(keepAliveMs: number) {
    this.#tickMs = Math.max(1, Math.floor(keepAliveMs / TICKS));
    // What this tick spares, the next one must still reach in time, and timers are late rather than early.
    this.#silenceMs = keepAliveMs - 2 * this.#tickMs;
  }

  /** Streams looked after. */
  get size(): number {
    return this.#streams.size;
  }

  add(stream: KeptAlive): void {
    this.#streams.add(stream);
    this.#timer ??= setInterval(() => this.#tick(), this.#tickMs).unref();
  }

  delete(stream: KeptAlive): void {
    this.#streams.delete(stream);
    if (this.#streams.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    const latest = performance.now() - this.#silenceMs;
    for (const stream of this.#streams) {
      // A reader that is behind already has bytes to come; more of them would only cost memory.
      if (stream.lastWriteAt <= latest && stream.bufferedBytes === 0) stream.comment();
    }
  }
}

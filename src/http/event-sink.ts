import type { ServerResponse } from 'node:http';
import type { KeepAlive, KeptAlive } from './keep-alive.js';
import type { EventSink } from './port.js';

/** What every stream of one server shares. */
export interface StreamSettings {
  readonly keepAlive: KeepAlive;
  /** Bytes waiting for one reader above which `send` returns false. */
  readonly bufferBytes: number;
  /** Idle time after which the kernel probes the peer, in milliseconds. */
  readonly probeMs: number;
}

const COMMENT = ':\n\n';

/**
 * An SSE response, written straight to node's response: a stream body in between would double the memory of an
 * idle connection.
 */
export class ResponseEventSink implements EventSink, KeptAlive {
  readonly #response: ServerResponse;
  readonly #settings: StreamSettings;
  readonly #closeListeners: (() => void)[] = [];
  #drainListeners: (() => void)[] = [];
  #open = true;
  lastWriteAt = 0;

  /** Takes a response whose headers are set but not sent; sends them with a first comment. */
  constructor(response: ServerResponse, settings: StreamSettings) {
    this.#response = response;
    this.#settings = settings;
    // Small events must not wait for one another, and a peer that vanished without a word should be noticed.
    response.req.socket.setNoDelay(true);
    response.req.socket.setKeepAlive(true, settings.probeMs);
    response.on('drain', () => this.#drained());
    this.comment();
    settings.keepAlive.add(this);
  }

  get open(): boolean {
    return this.#open;
  }

  get bufferedBytes(): number {
    return this.#open ? this.#response.writableLength : 0;
  }

  send(block: string): boolean {
    if (!this.#open) return false;
    this.lastWriteAt = performance.now();
    // Node announces a drain only after a write it called full, so both must hold before a writer may wait for one.
    return this.#response.write(block) || this.#response.writableLength <= this.#settings.bufferBytes;
  }

  comment(): void {
    this.send(COMMENT);
  }

  onDrain(listener: () => void): void {
    if (this.#open && this.#response.writableNeedDrain) this.#drainListeners.push(listener);
    // The drain may have passed between `send` and this call: waiting for the next could be for ever.
    else queueMicrotask(listener);
  }

  onClose(listener: () => void): void {
    if (this.#open) this.#closeListeners.push(listener);
    else listener();
  }

  end(): void {
    if (!this.#open) return;
    this.#response.end();
    this.closed();
  }

  destroy(): void {
    this.#response.destroy();
    this.closed();
  }

  /** Takes note that the response is over. */
  closed(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#settings.keepAlive.delete(this);
    this.#drained();
    for (const listener of this.#closeListeners.splice(0)) listener();
  }

  #drained(): void {
    const listeners = this.#drainListeners;
    this.#drainListeners = [];
    for (const listener of listeners) listener();
  }
}

/** The sink of a client that went away before its stream began. */
export const CLOSED_SINK: EventSink = {
  open: false,
  bufferedBytes: 0,
  send: () => false,
  onDrain: (listener) => queueMicrotask(listener),
  onClose: (listener) => listener(),
  end: () => undefined,
  destroy: () => undefined,
};

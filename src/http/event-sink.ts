import type { ServerResponse } from 'node:http';
import type { KeepAlive, KeptAlive } from './keep-alive.js';
import { callAll, type ListenerList, withListener } from './listener-list.js';
import type { EventSink } from './port.js';

/** What every stream of one server shares. */
export interface StreamSettings {
  readonly keepAlive: KeepAlive;
  /** Bytes waiting for one reader above which `send` returns false. */
  readonly bufferBytes: number;
  /** How long a reader may take no byte of what waits for it before it is cut off, in milliseconds. */
  readonly stallMs: number;
}

const COMMENT = ':\n\n';

/**
 * An SSE response, written straight to node's response: a stream body in between would double the memory of an
 * idle connection.
 */
export class ResponseEventSink implements EventSink, KeptAlive {
  readonly #response: ServerResponse;
  readonly #settings: StreamSettings;
  #closeListeners: ListenerList;
  #drainListeners: ListenerList;
  #open = true;
  #full = false;
  lastWriteAt = 0;

  /** Takes a response whose headers are written; sends them at once, with a first comment. */
  constructor(response: ServerResponse, settings: StreamSettings) {
    this.#response = response;
    this.#settings = settings;
    response.req.socket.setNoDelay(true);
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
    if (this.#response.write(block) || this.#response.writableLength <= this.#settings.bufferBytes)
      return true;
    if (!this.#full) {
      this.#full = true;
      // Node counts what the kernel takes as activity, so a slow reader lives on and a stalled one does not.
      this.#response.req.socket.setTimeout(this.#settings.stallMs);
    }
    return false;
  }

  comment(): void {
    this.send(COMMENT);
  }

  onDrain(listener: () => void): void {
    if (this.#open && this.#response.writableNeedDrain)
      this.#drainListeners = withListener(this.#drainListeners, listener);
    // The drain may have passed between `send` and this call: waiting for the next could be for ever.
    else queueMicrotask(listener);
  }

  onClose(listener: () => void): void {
    if (this.#open) this.#closeListeners = withListener(this.#closeListeners, listener);
    else listener();
  }

  end(): void {
    if (!this.#open) return;
    this.#response.end();
    cutWhenStalled(this.#response, this.#settings.stallMs);
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
    const listeners = this.#closeListeners;
    this.#closeListeners = undefined;
    callAll(listeners);
  }

  #drained(): void {
    if (this.#full && this.#open) this.#response.req.socket.setTimeout(0);
    this.#full = false;
    const listeners = this.#drainListeners;
    this.#drainListeners = undefined;
    callAll(listeners);
  }
}

/**
 * Bounds how long an ended response may wait for a reader that takes nothing: until it has gone out it keeps its
 * place among the concurrent requests. Node replaces this timeout once it has.
 */
export function cutWhenStalled(response: ServerResponse, stallMs: number): void {
  if (response.writableLength > 0) response.req.socket.setTimeout(stallMs);
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

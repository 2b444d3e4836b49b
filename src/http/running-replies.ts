import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { ResponseReply } from './reply.js';

/** The replies in progress on one server. */
export class RunningReplies {
  readonly #replies = new Map<ResponseReply, IncomingMessage>();
  readonly #idleListeners: (() => void)[] = [];
  #draining = false;

  /** Whether new requests are to be refused. */
  get draining(): boolean {
    return this.#draining;
  }

  get size(): number {
    return this.#replies.size;
  }

  add(reply: ResponseReply, request: IncomingMessage): void {
    // A connection that is kept would keep the server from closing.
    if (this.#draining) reply.always({ Connection: 'close' });
    this.#replies.set(reply, request);
    reply.onDone(() => {
      this.#replies.delete(reply);
      if (this.#replies.size === 0) for (const listener of this.#idleListeners.splice(0)) listener();
    });
  }

  /** Whether an answer is under way on a connection. */
  on(socket: Socket): boolean {
    for (const request of this.#replies.values()) if (request.socket === socket) return true;
    return false;
  }

  /**
   * Refuses requests from now on and ends the streams that wait for nothing in particular; answers to POST
   * requests may still come.
   */
  drain(): void {
    this.#draining = true;
    for (const [reply, request] of this.#replies) {
      reply.always({ Connection: 'close' });
      if (request.method === 'GET') reply.endStream();
    }
  }

  /** Ends every open stream properly. */
  endStreams(): void {
    for (const reply of this.#replies.keys()) reply.endStream();
  }

  /** Calls back once when nothing is in progress. */
  onIdle(listener: () => void): void {
    if (this.#replies.size === 0) listener();
    else this.#idleListeners.push(listener);
  }
}

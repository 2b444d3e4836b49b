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

  /**
   * Whether the next bytes on a connection would be the answer to the request that is arriving on it, and not
   * part of an answer under way or due before it.
   */
  awaitsNothingOn(socket: Socket): boolean {
    for (const [reply, request] of this.#replies) {
      if (request.socket === socket && (request.complete || reply.started)) return false;
    }
    return true;
  }

  /**
   * Refuses requests from now on and ends the long-lived streams; other answers may still come.
   */
  drain(): void {
    this.#draining = true;
    for (const reply of this.#replies.keys()) {
      reply.always({ Connection: 'close' });
      if (reply.longLived) reply.endStream();
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

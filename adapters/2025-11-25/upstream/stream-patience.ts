/** How long a new session waits for its standalone stream, in milliseconds: some servers say nothing until they must. */
const FIRST_MS = 2000;
/** How long once one of the upstream's streams was that silent: long enough for the request to have got there. */
const SILENT_MS = 100;

/**
 * How long sessions with one upstream wait for their standalone streams to open. A server that keeps the head of such a
 * response back until it has something to say does so every time, and where each call has a session of its own, each would
 * wait in vain.
 */
export class StreamPatience {
  private ms = FIRST_MS;

  /** Resolves when the stream is open or refused, or when waiting longer is of no use. */
  async wait(opening: Promise<unknown>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const expiry = new Promise<'late'>((resolve) => (timer = setTimeout(() => resolve('late'), this.ms)));
    this.ms = (await Promise.race([opening, expiry])) === 'late' ? SILENT_MS : FIRST_MS;
    clearTimeout(timer);
  }
}

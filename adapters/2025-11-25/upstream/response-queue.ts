/** Responses of one session on their way to its upstream at once: each takes a connection. */
const MAX_POSTING = 128;
/** Responses that wait for one of those to arrive. */
const MAX_WAITING = 4096;

/**
 * The responses of one session to requests of its upstream. However fast an upstream asks, and however slowly it takes the
 * answers, it gets no more connections than these, and the memory behind them is bounded: what is too much is dropped.
 */
export class ResponseQueue<End> {
  private posting = 0;
  private readonly waiting: (() => void)[] = [];

  /** @param post sends one response; never rejects */
  constructor(private readonly post: (text: string) => Promise<End>) {}

  /** Resolves when the upstream has answered; with undefined when there were too many. */
  async send(text: string): Promise<End | undefined> {
    if (this.posting >= MAX_POSTING) {
      if (this.waiting.length >= MAX_WAITING) return undefined;
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    } else this.posting++;
    try {
      return await this.post(text);
    } finally {
      // The place goes from one to the next without being free in between.
      const next = this.waiting.shift();
      if (next === undefined) this.posting--;
      else next();
    }
  }
}

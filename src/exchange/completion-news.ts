import type { Completions, Introduction, UpstreamHalf } from './exchange.js';
import { pause } from './pause.js';

/**
 * News that a URL elicitation is completed, for one call that waits for it (X18). Which one does not matter: any of them
 * makes another attempt worth while.
 * @see /specification/2025-11-25/client/elicitation#completion-notifications-for-url-mode-elicitation
 */
export class CompletionNews {
  private readonly completions: Completions | undefined;
  private heard = new AbortController();

  constructor(upstream: UpstreamHalf, from: Introduction) {
    this.completions = upstream.hearCompletions(from, () => this.heard.abort());
  }

  /** Whether there is a stream that news can come on. */
  get live(): boolean {
    return this.completions?.live === true;
  }

  /** Waits `ms` milliseconds, or until there is news that no earlier wait has taken, or the signal is aborted. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    await pause(ms, AbortSignal.any([signal, this.heard.signal]));
    this.heard = new AbortController();
  }

  stop(): void {
    this.completions?.stop();
  }
}

import type { Completions, Introduction, UpstreamHalf } from './exchange.js';
import { pause } from './pause.js';

/**
 * News that a URL elicitation is completed, for one call that waits for some (X18). What is not awaited, or was completed
 * before, is ignored, as clients must.
 * @see /specification/2025-11-25/client/elicitation#completion-notifications-for-url-mode-elicitation
 */
export class CompletionNews {
  private readonly completions: Completions | undefined;
  private readonly awaited = new Set<string>();
  private readonly completed = new Set<string>();
  private heard = new AbortController();

  constructor(upstream: UpstreamHalf, from: Introduction) {
    this.completions = upstream.hearCompletions(from, (elicitationId) => {
      if (!this.awaited.delete(elicitationId)) return;
      this.completed.add(elicitationId);
      this.heard.abort();
    });
  }

  /** The call waits for these elicitations, too. */
  expect(elicitationIds: Iterable<string>): void {
    for (const id of elicitationIds) if (!this.completed.has(id)) this.awaited.add(id);
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

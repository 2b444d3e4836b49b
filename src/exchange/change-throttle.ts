import type { Message } from '../jsonrpc/message.js';
import { changeOf } from './change-filter.js';

/**
 * Coalesces bursts of one change (X25): the first passes at once, the last of those that follow within the window passes
 * at its end, so the last change is never lost.
 */
export class ChangeThrottle {
  private readonly windows = new Map<string, { timer: NodeJS.Timeout; last: Message | undefined }>();

  /** @param windowMs milliseconds */
  constructor(
    private readonly windowMs: number,
    private readonly pass: (message: Message) => void,
  ) {}

  offer(message: Message): void {
    const change = changeOf(message);
    if (change === undefined) return;
    const key = 'list' in change ? change.list : `uri ${change.uri}`;
    const window = this.windows.get(key);
    if (window !== undefined) {
      window.last = message;
      return;
    }
    this.open(key);
    this.pass(message);
  }

  close(): void {
    for (const { timer } of this.windows.values()) clearTimeout(timer);
    this.windows.clear();
  }

  private open(key: string): void {
    const timer = setTimeout(() => {
      const last = this.windows.get(key)?.last;
      this.windows.delete(key);
      if (last === undefined) return;
      this.open(key);
      this.pass(last);
    }, this.windowMs);
    timer.unref();
    this.windows.set(key, { timer, last: undefined });
  }
}

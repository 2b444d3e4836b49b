import { now } from '../clock/clock.js';
import type { Logger } from '../telemetry/logger.js';
import type { Change } from './store.js';

/** How long after a commit the next one waits, in milliseconds: what arrives meanwhile goes in one. */
const GAP_MS = 2;
const MAX_BATCH = 1024;
/** Bytes of events that may wait for a store that does not take them. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
const RETRY_MS = { first: 100, most: 2000 } as const;

interface Entry {
  readonly change: Change;
  readonly kept: (() => void) | undefined;
}

/**
 * The changes on their way to a store: in order, several per commit, tried again until they are kept. A lonely change
 * is committed at the end of its tick; under load commits grow instead of becoming more.
 */
export class Journal {
  private queue: Entry[] = [];
  private waitingBytes = 0;
  private busy = false;
  private scheduled = false;
  private lastCommit = 0;
  private retryMs: number = RETRY_MS.first;
  private closed = false;
  private readonly idle: (() => void)[] = [];
  /** Whether the last attempt failed. */
  failing = false;

  /** @param commit keeps all of the changes or none; is given the same again after a failure that may have kept them */
  constructor(
    private readonly commit: (changes: readonly Change[]) => Promise<void> | void,
    private readonly log: Logger,
  ) {}

  get full(): boolean {
    return this.waitingBytes > MAX_WAITING_BYTES;
  }

  write(change: Change, kept?: () => void): void {
    if (this.closed) return;
    this.queue.push({ change, kept });
    this.waitingBytes += sizeOf(change);
    this.schedule();
  }

  /** Resolves when nothing waits, or after `ms` milliseconds. */
  drained(ms: number): Promise<void> {
    if (this.queue.length === 0 && !this.busy) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.idle.push(() => {
        clearTimeout(timer);
        resolve();
      });
      // Closing should not wait for the gap or for the next attempt.
      if (!this.busy) void this.flush();
    });
  }

  close(): void {
    this.closed = true;
    this.queue = [];
  }

  private schedule(): void {
    if (this.scheduled || this.busy || this.closed) return;
    this.scheduled = true;
    const wait = this.failing ? this.retryMs : this.lastCommit + GAP_MS - now();
    const flush = () => {
      this.scheduled = false;
      void this.flush();
    };
    if (wait <= 0) setImmediate(flush);
    else setTimeout(flush, wait);
  }

  private async flush(): Promise<void> {
    if (this.busy || this.queue.length === 0) return;
    this.busy = true;
    const batch = this.queue.slice(0, MAX_BATCH);
    try {
      const committing = this.commit(batch.map(({ change }) => change));
      if (committing !== undefined) await committing;
      this.queue.splice(0, batch.length);
      this.succeeded();
    } catch (error) {
      batch.length = 0;
      this.failed(error);
    }
    this.lastCommit = now();
    this.busy = false;
    for (const { change, kept } of batch) {
      this.waitingBytes -= sizeOf(change);
      kept?.();
    }
    if (this.queue.length > 0) this.schedule();
    else for (const done of this.idle.splice(0)) done();
  }

  private succeeded(): void {
    if (this.failing) this.log.info({}, 'the store takes changes again');
    this.failing = false;
    this.retryMs = RETRY_MS.first;
  }

  private failed(error: unknown): void {
    const problem = error instanceof Error ? error.message : 'unknown';
    if (!this.failing) this.log.error({ problem }, 'the store takes no changes; they wait in memory');
    else this.retryMs = Math.min(this.retryMs * 2, RETRY_MS.most);
    this.failing = true;
  }
}

function sizeOf(change: Change): number {
  return change.kind === 'event' ? change.event.json.length : 0;
}

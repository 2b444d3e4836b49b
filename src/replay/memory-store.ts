import { randomBytes } from 'node:crypto';
import type { Store, StoredSession } from './store.js';

/** The default: nothing outlives the process, so every change is kept as soon as it is made. */
export class MemoryStore implements Store {
  readonly epoch = newEpoch();
  readonly run = 0;
  readonly persistent = false;
  readonly available = true;
  readonly full = false;
  onLost: Store['onLost'] = () => undefined;

  write(): boolean {
    return true;
  }

  load(): Promise<StoredSession | undefined> {
    return Promise.resolve(undefined);
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** An epoch nobody has had before: 48 random bits. */
export function newEpoch(): string {
  return randomBytes(6).toString('base64url');
}

import { LRUCache } from 'lru-cache';
import type { CompleteOutcome } from './outcome.js';

const MAX_ENTRIES = 1000;
/** In UTF-16 units of the messages. */
const MAX_SIZE = 32 * 1024 * 1024;

/** Results that are kept to be given again, bounded in number and size. */
export type KeptOutcomes = LRUCache<string, CompleteOutcome>;

/** @param ttlMs how long one is kept unless it is said when it is put in, in milliseconds */
export function keptOutcomes(ttlMs?: number): KeptOutcomes {
  return new LRUCache({
    max: MAX_ENTRIES,
    maxSize: MAX_SIZE,
    ...(ttlMs !== undefined && { ttl: ttlMs }),
    sizeCalculation: (outcome) => outcome.message.text.length + 1,
  });
}

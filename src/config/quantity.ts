import { z } from 'zod';

/** Node fires a longer timer at once, so a larger number would mean "immediately" (2^31 - 1 ms, 24.8 days). */
const LONGEST_TIMER_MS = 2_147_483_647;

/** A whole number with its default; `description` says what it bounds and in which unit. */
export function count(byDefault: number, description: string, min = 1, max = Number.MAX_SAFE_INTEGER) {
  return z.int().min(min).max(max).default(byDefault).describe(description);
}

/** A duration in milliseconds without a default. */
export function duration() {
  return z.int().min(1).max(LONGEST_TIMER_MS);
}

/** A duration in milliseconds, at most what a Node timer can wait. */
export function milliseconds(byDefault: number, description: string, min = 1) {
  return count(byDefault, description, min, LONGEST_TIMER_MS);
}

/** A size in bytes. */
export function bytes(byDefault: number, description: string, min = 1024) {
  return count(byDefault, description, min);
}

export const KIB = 1024;
export const MIB = 1024 * 1024;

/** The revisions of the modern era this gateway serves, newest first. */
export const MODERN_REVISIONS = ['2026-07-28'] as const;

/** The revision spoken to modern upstreams on behalf of clients that have none of their own. */
export const LATEST_MODERN: string = MODERN_REVISIONS[0];

/** Set membership, not comparison. */
export function isModernRevision(value: string | undefined): boolean {
  return value !== undefined && (MODERN_REVISIONS as readonly string[]).includes(value);
}

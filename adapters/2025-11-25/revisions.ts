/** The revisions of the legacy era this gateway serves, newest first. */
export const LEGACY_REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

export type LegacyRevision = (typeof LEGACY_REVISIONS)[number];

/** The revision offered when the client names none we know. @see /specification/2025-11-25/basic/lifecycle#version-negotiation */
export const LATEST_LEGACY: LegacyRevision = LEGACY_REVISIONS[0];

/** Set membership, not comparison: `"draft" > "2025-11-25"` is true and means nothing. */
export function isLegacyRevision(value: string | undefined): value is LegacyRevision {
  return value !== undefined && (LEGACY_REVISIONS as readonly string[]).includes(value);
}

/** Priming events and server-side disconnect exist since 2025-11-25; older parsers choke on an event without data. */
export function hasPriming(revision: string): boolean {
  return revision === '2025-11-25';
}

/** JSON-RPC batches exist in 2025-03-26 only. @see /specification/2025-03-26/basic#batching */
export function hasBatches(revision: string): boolean {
  return revision === '2025-03-26';
}

/** The `MCP-Protocol-Version` header exists since 2025-06-18. */
export function hasVersionHeader(revision: string): boolean {
  return revision === '2025-11-25' || revision === '2025-06-18';
}

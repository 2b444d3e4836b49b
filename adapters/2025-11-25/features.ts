import type { LegacyFeatures } from '../../src/translation/legacy-features.js';
import { LEGACY_REVISIONS } from './revisions.js';

/**
 * What a legacy revision can carry (X15). @see the changelogs of /specification/2025-03-26, /2025-06-18 and /2025-11-25
 */
export function legacyFeatures(revision: string): LegacyFeatures {
  // Newest first: a smaller index is a newer revision. Unknown revisions are not served, so they count as the oldest.
  const index = (LEGACY_REVISIONS as readonly string[]).indexOf(revision);
  const age = index === -1 ? LEGACY_REVISIONS.length : index;
  const since = (first: (typeof LEGACY_REVISIONS)[number]) => age <= LEGACY_REVISIONS.indexOf(first);
  return {
    resourceLinks: since('2025-06-18'),
    structuredContent: since('2025-06-18'),
    elicitation: since('2025-06-18'),
    audio: since('2025-03-26'),
    urlElicitation: since('2025-11-25'),
    titledChoices: since('2025-11-25'),
    samplingTools: since('2025-11-25'),
  };
}

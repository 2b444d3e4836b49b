/**
 * What a legacy peer's revision can carry. Legacy revisions differ from each other; a translation step that
 * depends on the difference takes these features, so that only the adapters need to know revisions (X15).
 */
export interface LegacyFeatures {
  /** `resource_link` content blocks; without it a link is put into words. */
  readonly resourceLinks: boolean;
  /** `audio` content blocks; without it the block is replaced by a text that says what was left out. */
  readonly audio: boolean;
  /** `outputSchema` and `structuredContent`; without it a result must say everything in `content`. */
  readonly structuredContent: boolean;
  /** `elicitation/create`; without it the capability is not declared to, or claimed for, this peer. */
  readonly elicitation: boolean;
  /** URL mode of elicitation; without it `elicitation.url` is not declared. */
  readonly urlElicitation: boolean;
  /** Choices with titles in elicitation; without them `enumNames` has the titles. */
  readonly titledChoices: boolean;
  /** `tools` in sampling, and with them several content blocks in one message; without it `sampling.tools` is not declared. */
  readonly samplingTools: boolean;
}

/** The features of the newest legacy revision. */
export const ALL_LEGACY_FEATURES: LegacyFeatures = {
  resourceLinks: true,
  audio: true,
  structuredContent: true,
  elicitation: true,
  urlElicitation: true,
  titledChoices: true,
  samplingTools: true,
};

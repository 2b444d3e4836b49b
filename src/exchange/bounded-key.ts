import { createHash } from 'node:crypto';

/** Longest text that is its own key, in UTF-16 units. */
const MAX_LENGTH = 256;

/**
 * A key for a text, of bounded length: clients decide how long cursors and capabilities are, and what is looked up by them
 * would otherwise keep megabytes for each entry. Equal for equal texts only.
 */
export function boundedKey(text: string): string {
  return text.length <= MAX_LENGTH ? `=${text}` : `#${createHash('sha256').update(text).digest('base64url')}`;
}

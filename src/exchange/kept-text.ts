import { ownCopy } from './own-copy.js';
import { remembering } from './remembering.js';

/**
 * A part of a message to be kept for long: by itself, because a substring holds the whole message in memory, and once
 * for all who say the same, as the clients of one kind do of themselves.
 */
export const keptText = remembering(ownCopy);

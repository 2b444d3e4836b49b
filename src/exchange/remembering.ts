import { LRUCache } from 'lru-cache';
import { ownCopy } from './own-copy.js';

const MAX_ENTRIES = 200;
/** Longer texts are translated each time: what clients send must not fill the memory. */
const MAX_LENGTH = 4096;

/** A pure function of a text that remembers its latest results. */
export function remembering(translate: (text: string) => string): (text: string) => string {
  const results = new LRUCache<string, string>({ max: MAX_ENTRIES });
  return (text) => {
    const known = results.get(text);
    if (known !== undefined) return known;
    const result = translate(text);
    if (text.length <= MAX_LENGTH && result.length <= MAX_LENGTH) results.set(ownCopy(text), result);
    return result;
  };
}

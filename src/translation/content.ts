import type { Draft } from '../jsonrpc/draft.js';
import type { Message } from '../jsonrpc/message.js';
import type { LegacyFeatures } from './legacy-features.js';
export function contentToLegacy(_m: Message, _d: Draft, _f: LegacyFeatures): void {
  return;
}

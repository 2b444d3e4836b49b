import { requestKey } from '../../../src/exchange/request-key.js';
import type { Message } from '../../../src/jsonrpc/message.js';

/** Members that differ between a request and its retry by design. */
const NOT_SALIENT: ReadonlySet<string> = new Set(['_meta', 'inputResponses', 'requestState']);

/**
 * What a request asks for: method and params, however they are spelled. A retry must ask for the same.
 * @see /specification/2026-07-28/basic/patterns/mrtr#server-requirements-basic-workflow
 */
export function requestDigest(message: Message): string {
  return requestKey(message, NOT_SALIENT);
}

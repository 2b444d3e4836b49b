import { createHash } from 'node:crypto';
import { canonicalJson } from '../../../src/jsonrpc/canonical.js';
import type { Message } from '../../../src/jsonrpc/message.js';

/** Members that differ between a request and its retry by design. */
const NOT_SALIENT: ReadonlySet<string> = new Set(['_meta', 'inputResponses', 'requestState']);

/**
 * What a request asks for, as a digest: method and params, however they are spelled. A retry must ask for the same.
 * @see /specification/2026-07-28/basic/patterns/mrtr#server-requirements-basic-workflow
 */
export function requestDigest(message: Message): string {
  const members = (message.params?.object?.members ?? [])
    .filter((member) => !NOT_SALIENT.has(member.key))
    .map((member) => `${JSON.stringify(member.key)}:${canonicalJson(message.text, member)}`)
    .sort();
  return createHash('sha256')
    .update(`${message.method ?? ''}\n${members.join(',')}`)
    .digest('base64url');
}

import { canonicalJson } from '../jsonrpc/canonical.js';
import type { Message } from '../jsonrpc/message.js';
import { boundedKey } from './bounded-key.js';

/**
 * What a request asks for, as a key that is equal for requests with the same answer: of its method and its params in
 * canonical JSON, without `_meta`, which says who asks and how rather than for what.
 */
export function requestKey(method: string, message: Message): string {
  const members = (message.params?.object?.members ?? []).filter(({ key }) => key !== '_meta');
  const params = members
    .map((member) => `${JSON.stringify(member.key)}:${canonicalJson(message.text, member)}`)
    .sort();
  return `${method}\n${boundedKey(params.join(','))}`;
}

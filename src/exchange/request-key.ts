import { canonicalJson } from '../jsonrpc/canonical.js';
import type { Message } from '../jsonrpc/message.js';
import { boundedKey } from './bounded-key.js';

/** `_meta` says who asks and how, rather than for what. */
const META: ReadonlySet<string> = new Set(['_meta']);

/**
 * What a request asks for, as a key of bounded length that is equal for requests that ask for the same, however they are
 * spelled: of its method and its params in canonical JSON.
 * @param ignored members of the params that make no difference
 */
export function requestKey(message: Message, ignored: ReadonlySet<string> = META): string {
  const params = (message.params?.object?.members ?? [])
    .filter(({ key }) => !ignored.has(key))
    .map((member) => `${JSON.stringify(member.key)}:${canonicalJson(message.text, member)}`)
    .sort();
  return `${message.method ?? ''}\n${boundedKey(params.join(','))}`;
}

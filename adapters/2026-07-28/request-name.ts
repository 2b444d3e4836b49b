import { type Message, paramString } from '../../src/jsonrpc/message.js';

/** Which member of `params` the `Mcp-Name` header mirrors, by method. */
const NAME_MEMBER: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/**
 * What `Mcp-Name` must say of a request; undefined when the method has no such header.
 * @see /specification/2026-07-28/basic/transports/streamable-http#standard-request-headers
 */
export function requestName(message: Message): { member: string; value: string | undefined } | undefined {
  const method = message.method ?? '';
  const member = Object.hasOwn(NAME_MEMBER, method) ? NAME_MEMBER[method] : undefined;
  return member === undefined ? undefined : { member, value: paramString(message, member) };
}

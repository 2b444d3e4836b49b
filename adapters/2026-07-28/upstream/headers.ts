import type { UpstreamContext } from '../../adapter.js';
import { authorizationFor } from '../../../src/auth/upstream-authorization.js';
import type { Caller } from '../../../src/exchange/exchange.js';
import { isPlainHeaderValue } from '../../../src/exchange/passed-headers.js';
import type { Message } from '../../../src/jsonrpc/message.js';
import { encodeHeaderValue } from '../../../src/translation/header-value.js';
import { requestName } from '../request-name.js';

/**
 * The headers of a modern POST. Those computed from the body come last, so that nothing a client sent can stand in
 * their place.
 * @see /specification/2026-07-28/basic/transports/streamable-http#request-metadata
 */
export function requestHeaders(
  context: UpstreamContext,
  caller: Caller,
  message: Message,
  revision: string,
  passed: Readonly<Record<string, string>>,
): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(passed)) if (isPlainHeaderValue(value)) headers[name] = value;
  headers['content-type'] = 'application/json';
  headers['accept'] = 'application/json, text/event-stream';
  const authorization = authorizationFor(context.upstream, caller);
  if (authorization !== undefined) headers['authorization'] = authorization;
  headers['mcp-protocol-version'] = revision;
  headers['mcp-method'] = encodeHeaderValue(message.method ?? '');
  const name = requestName(message);
  if (name?.value !== undefined) headers['mcp-name'] = encodeHeaderValue(name.value);
  return headers;
}

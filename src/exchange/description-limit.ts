import { GatewayError } from '../errors/gateway-error.js';
import { INVALID_PARAMS } from '../jsonrpc/error-code.js';
import type { ClientDescription } from './exchange.js';

/**
 * Bounds what a client says of itself: icons may be in it, but it is kept as long as its session.
 * @param limit for `clientInfo` and capabilities together, in UTF-16 units
 * @throws GatewayError -32602 the client says more of itself than can be kept for everybody
 */
export function checkDescription({ clientInfo, capabilities }: ClientDescription, limit: number): void {
  const length = capabilities.length + (clientInfo?.length ?? 0);
  if (length <= limit) return;
  const text = `Invalid params: clientInfo and capabilities have ${length} characters; the limit is ${limit} (clientDescriptionCharacters)`;
  throw new GatewayError(INVALID_PARAMS, text, { status: 400 });
}

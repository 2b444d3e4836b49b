import { GatewayError } from '../errors/gateway-error.js';
import { INVALID_PARAMS } from '../jsonrpc/error-code.js';
import type { ClientDescription } from './exchange.js';

/** What a client may say of itself, in UTF-16 units: icons may be in it, but it is kept as long as its session. */
const MAX_LENGTH = 128 * 1024;

/** @throws GatewayError -32602 the client says more of itself than can be kept for everybody */
export function checkDescription({ clientInfo, capabilities }: ClientDescription): void {
  const length = capabilities.length + (clientInfo?.length ?? 0);
  if (length <= MAX_LENGTH) return;
  const text = `Invalid params: clientInfo and capabilities have ${length} characters; the limit is ${MAX_LENGTH}`;
  throw new GatewayError(INVALID_PARAMS, text, { status: 400 });
}

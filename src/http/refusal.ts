import { GATEWAY_CODE, GatewayError } from '../errors/gateway-error.js';
import type { ReplyHeaders } from './port.js';

/** A request the HTTP layer turns away before it is read as JSON-RPC. */
export function refusal(
  status: number,
  message: string,
  headers: ReplyHeaders = {},
  code: number = GATEWAY_CODE.refused,
): GatewayError {
  return new GatewayError(code, message, { status, headers });
}

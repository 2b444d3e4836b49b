import type { UpstreamConfig } from '../config/config.js';
import type { Caller } from '../exchange/exchange.js';

/**
 * The `Authorization` header towards an upstream: the client's own where the gateway is transparent, the configured
 * one where the upstream has a credential of its own.
 */
export function authorizationFor(upstream: UpstreamConfig, caller: Caller): string | undefined {
  return upstream.authorization.mode === 'static' ? upstream.authorization.header : caller.authorization;
}

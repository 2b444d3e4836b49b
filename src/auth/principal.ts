import { createHash } from 'node:crypto';
import type { HttpRequest } from '../http/port.js';

/**
 * Who a request is made for. Sessions, replay, parked calls, upstream sessions and private cache entries belong
 * to exactly one principal; `key` is safe to log and to use as a map key, the credential is not.
 */
export interface Principal {
  readonly key: string;
  readonly anonymous: boolean;
}

const ANONYMOUS: Principal = { key: 'anonymous', anonymous: true };

/**
 * The principal of an unverified credential is the credential itself, hashed: claims nobody verified identify
 * nobody, so a changed credential is another principal.
 */
export function principalOf(authorization: string | undefined): Principal {
  if (authorization === undefined) return ANONYMOUS;
  return { key: `h:${createHash('sha256').update(authorization).digest('base64url')}`, anonymous: false };
}

/** Whoever sends a request: as another instance has found out, or by the credential it carries. */
export function principalOfRequest(request: HttpRequest): Principal {
  return request.principal ?? principalOfHeaders(request.headers);
}

/** Hashing once for each request is enough: several places need to know whose it is. Forgotten with the request. */
const known = new WeakMap<HttpRequest['headers'], Principal>();

/** Whoever sends a request with these headers, going by its credential. */
export function principalOfHeaders(headers: HttpRequest['headers']): Principal {
  if (headers['authorization'] === undefined) return ANONYMOUS;
  let principal = known.get(headers);
  if (principal === undefined) {
    principal = principalOf(headers['authorization']);
    known.set(headers, principal);
  }
  return principal;
}

/**
 * Whose share a caller's sessions and waiting calls count against. Anonymous callers are told apart by their address,
 * as far as they can be: otherwise one of them could use up the share of all.
 */
export function ownerOf(principal: Principal, remoteAddress: string): string {
  return principal.anonymous ? `a:${remoteAddress}` : principal.key;
}

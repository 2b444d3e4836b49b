import type { GatewayError } from '../errors/gateway-error.js';

/** What asking an upstream for its era brought. */
export type Probe =
  /** It is of this era. */
  | { readonly kind: 'yes'; readonly evidence: string }
  /** It is not, by this evidence. */
  | { readonly kind: 'no'; readonly evidence: string }
  /** It refused this credential, or the lack of one: no evidence either way. */
  | { readonly kind: 'refused'; readonly error: GatewayError }
  /** It did not answer in a way that says anything. */
  | { readonly kind: 'unknown'; readonly error: GatewayError };

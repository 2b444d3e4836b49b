import { GATEWAY_CODE, GatewayError } from '../errors/gateway-error.js';
import type { Draft } from '../jsonrpc/draft.js';
import type { Message } from '../jsonrpc/message.js';

/** How an exchange ended. Every exchange ends exactly once. */
export type Outcome = CompleteOutcome | InputRequiredOutcome | FailedOutcome;

/** The upstream's result response; its `id` is the upstream's and is replaced on the way out. */
export interface CompleteOutcome {
  readonly kind: 'complete';
  readonly message: Message;
  /** Pending edits of the message, when a translation made any. */
  readonly draft?: Draft;
  /** What the upstream said of itself, where its era says so once and not with each result. */
  readonly server?: Message;
}

/** The upstream wants answers first. Only modern upstreams end an exchange so. */
export interface InputRequiredOutcome {
  readonly kind: 'inputRequired';
  readonly message: Message;
}

/** A JSON-RPC error, from the upstream or from the gateway. */
export interface FailedOutcome {
  readonly kind: 'failed';
  /** Who says so. Errors of the upstream are translated between the eras, the gateway's own are not. */
  readonly origin: 'upstream' | 'gateway';
  readonly code: number;
  readonly text: string;
  /** JSON text of the error's `data`. */
  readonly data?: string;
  /** The HTTP status that goes with it while nothing has been sent; absent: the client's era decides. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** The upstream's error response, verbatim, when there was one. */
  readonly message?: Message;
  /** The answer shows that the upstream is of another era than believed, and that the request did not run. */
  readonly contradiction?: string;
}

/** A failure the gateway itself reports. */
export function failure(error: GatewayError): FailedOutcome {
  return {
    kind: 'failed',
    origin: 'gateway',
    code: error.code,
    text: error.message,
    status: error.status,
    ...(error.data !== undefined && { data: error.data }),
    headers: error.headers,
  };
}

/** The client cancelled the request; nobody waits for an answer. */
export function cancelled(): FailedOutcome {
  return failure(
    new GatewayError(GATEWAY_CODE.cancelled, 'the client cancelled the request', { status: 499 }),
  );
}

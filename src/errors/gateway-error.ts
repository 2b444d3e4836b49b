/**
 * Errors the gateway itself raises, with codes outside the range JSON-RPC and MCP reserve
 * (-32768…-32000), as /specification/2026-07-28/basic#error-codes asks of implementations.
 */

/** The gateway's own JSON-RPC error codes. They are stable: operators and clients may match on them. */
export const GATEWAY_CODE = {
  /** No connection to the upstream: refused, unresolvable, connect timeout. HTTP 502. */
  upstreamUnreachable: -31000,
  /** The upstream did not answer in time. HTTP 504. */
  upstreamTimeout: -31001,
  /** The upstream answered something that is not MCP: HTML, no JSON-RPC, a foreign id. HTTP 502. */
  upstreamProtocol: -31002,
  /** The call was sent and its answer lost: it may or may not have run. HTTP 502. */
  outcomeUnknown: -31003,
  /** TLS to the upstream failed: certificate, host name, protocol. HTTP 502. */
  upstreamTls: -31004,
  /** The upstream refused with an HTTP status that carries no JSON-RPC error. HTTP 502, or the status itself for 401, 403 and 429. */
  upstreamStatus: -31005,
  /** A cap of the gateway is reached; `Retry-After` says when to try again. HTTP 429 or 503. */
  overloaded: -31006,
  /** The response was evicted from the replay buffer before the client came back. */
  responseEvicted: -31007,
  /** The client's era or revision has no way to receive what the upstream sent. */
  notTranslatable: -31008,
  /** The upstream asked more rounds of questions than the limit allows. */
  tooManyRounds: -31009,
  /** The question could not be put to the client, or it did not answer in time. */
  questionFailed: -31010,
  /** The session ended while the request was running. */
  sessionEnded: -31011,
  /** The gateway is shutting down. HTTP 503. */
  shuttingDown: -31012,
  /** A request the HTTP layer refuses before it is read as JSON-RPC: Origin, Host, size, media type. */
  refused: -31013,
  /** The client cancelled. Seen in logs only: a cancelled request is not answered. */
  cancelled: -31014,
  /** The store of sessions cannot be reached; it is tried again by itself. HTTP 503. */
  storeUnavailable: -31015,
} as const;

/** What a `GatewayError` can carry besides its code. */
export interface GatewayErrorDetails {
  /** HTTP status to answer with while nothing has been sent yet. */
  readonly status?: number;
  /** JSON text of the error's `data` member. */
  readonly data?: string;
  /** Response headers, such as `WWW-Authenticate` or `Retry-After`. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** For logs only, never sent. */
  readonly cause?: unknown;
}

/** The one error class of the gateway: a JSON-RPC error with the HTTP status it is answered with. */
export class GatewayError extends Error {
  readonly status: number;
  readonly data: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;

  constructor(
    readonly code: number,
    message: string,
    details: GatewayErrorDetails = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'GatewayError';
    this.status = details.status ?? 500;
    this.data = details.data;
    this.headers = details.headers ?? {};
  }
}

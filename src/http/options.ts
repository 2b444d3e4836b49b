import type { HttpReply, HttpRequest } from './port.js';

/** A request before its body was read: what admission may look at. */
export type HttpRequestHead = Omit<HttpRequest, 'body'>;

/** What one client, or all of them together, may use. */
export interface HttpLimits {
  /** Largest request body, in bytes; larger is 413. */
  readonly bodyBytes: number;
  /** All request header lines together, in bytes; more is 431. */
  readonly headerBytes: number;
  /** Request header lines; more is 431. */
  readonly headerCount: number;
  /** POST requests in progress, over all clients; more is 503. */
  readonly concurrentRequests: number;
  /** POST requests in progress for one principal, or one address if anonymous; more is 429. */
  readonly concurrentPerPrincipal: number;
  /** Bytes waiting for one reader above which its sink asks the writer to wait. */
  readonly streamBufferBytes: number;
  /** `Retry-After` on 429 and 503, in seconds. */
  readonly retryAfterSeconds: number;
  /**
   * Long-lived streams open at once, over all clients; more is 503. Eight times `concurrentRequests` if absent,
   * because an idle stream costs little. One principal gets the share that it has of the requests.
   */
  readonly maxStreams?: number;
}

/** How long the HTTP layer waits, in milliseconds. */
export interface HttpTimeouts {
  /** Arrival of a whole request body; later is 408. */
  readonly bodyMs: number;
  /** Longest silence on an open stream before a comment is written. */
  readonly keepAliveMs: number;
  /** Arrival of the header section; 10 s if absent. */
  readonly headersMs?: number;
  /** An idle connection is kept this long; 65 s if absent, above the 60 s for which common proxies keep theirs. */
  readonly idleMs?: number;
  /** A reader that takes no byte of what waits for it is cut off after this long; 60 s if absent. */
  readonly stallMs?: number;
}

/** Where the HTTP layer reports to; the shape of a structured logger. */
export interface HttpLog {
  warn(details: Readonly<Record<string, unknown>>, message: string): void;
  error(details: Readonly<Record<string, unknown>>, message: string): void;
}

/** An answer with a JSON body that is no JSON-RPC. */
export interface DocumentReply {
  readonly status: number;
  /** JSON text. */
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the HTTP layer needs to know and to call. */
export interface HttpOptions {
  /** The host the gateway listens on; on loopback, loopback names and origins are allowed by themselves. */
  readonly listen: { readonly host: string };
  /** Values of `Host` to accept besides those, with or without port; `*` accepts any. */
  readonly allowedHosts: readonly string[];
  /** Values of `Origin` to accept besides those; `*` accepts any but `null`. */
  readonly allowedOrigins: readonly string[];
  readonly limits: HttpLimits;
  readonly timeouts: HttpTimeouts;
  /** Every upstream that `/mcp/{name}` may name. Matched without regard to letter case. */
  readonly upstreamNames: readonly string[];
  /** The upstream behind `/mcp`; without one, `/mcp` is 404. */
  readonly defaultUpstream?: string;
  /** Further paths, such as `/legacy`, and the upstream behind each. */
  readonly aliases: Readonly<Record<string, string>>;
  readonly log: HttpLog;
  /**
   * Answers one request. May throw a `GatewayError` while nothing was sent; anything else thrown is answered with
   * 500 and logged, and cuts a stream that has begun.
   */
  serve(upstreamName: string, request: HttpRequest, reply: HttpReply): Promise<void>;
  /** Whom the request counts for; undefined counts it for the peer's address. */
  principalKey?(request: HttpRequestHead): string | undefined;
  /** Whether the request opens a long-lived stream and counts against `maxStreams`. GET does if absent. */
  opensStream?(request: HttpRequestHead): boolean;
  /** The protected resource metadata (RFC 9728) of an upstream's endpoint; 404 if absent. */
  protectedResource?(upstreamName: string): Promise<DocumentReply>;
}

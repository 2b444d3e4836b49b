/**
 * What a protocol revision family provides: a downstream half, which is the server towards a client, and an upstream
 * half, which is the client towards a server. The seam between the two is `src/exchange`.
 */
import type { GatewayConfig, UpstreamConfig } from '../src/config/config.js';
import type { Activity } from '../src/exchange/activity.js';
import type { Era, Relay } from '../src/exchange/exchange.js';
import type { HttpReply, HttpRequest } from '../src/http/port.js';
import type { Message } from '../src/jsonrpc/message.js';
import type { Store } from '../src/replay/store.js';
import type { Logger } from '../src/telemetry/logger.js';
import type { UpstreamHttp } from '../src/upstreams/upstream-http.js';

/** What every half is given. */
export interface AdapterContext {
  readonly config: GatewayConfig;
  readonly log: Logger;
  /** Every revision the gateway serves, modern ones first: what a client is told it may speak. */
  readonly servedRevisions: readonly string[];
  /** Names this run of this process among all there are and were: letters, digits, "-" and "_". */
  readonly instance: string;
}

/** What a downstream half is given. */
export interface DownstreamContext extends AdapterContext {
  /** Where sessions and their logs are kept. */
  readonly store: Store;
}

/** What an upstream half is given. */
export interface UpstreamContext extends AdapterContext {
  readonly name: string;
  readonly upstream: UpstreamConfig;
  readonly http: UpstreamHttp;
}

/** The body of a POST: one message, or a batch of them; empty for GET and DELETE. */
export interface Incoming {
  readonly messages: readonly Message[];
  readonly batch: boolean;
}

/** The server side of a revision: answers one HTTP request of a client of its era. */
export interface DownstreamHalf {
  readonly era: Era;
  /** Serves a request that was classified as this era's. @throws GatewayError to be answered by the caller */
  serve(request: HttpRequest, incoming: Incoming, reply: HttpReply, relay: Relay): Promise<void>;
  activity(): Activity;
  /** Ends sessions, streams and timers. */
  close(): Promise<void>;
}

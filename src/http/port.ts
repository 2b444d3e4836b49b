/**
 * The HTTP shape the adapters see. They never meet the web framework: an adapter reads an `HttpRequest` and
 * answers through an `HttpReply`, so the same adapter serves any host that can provide the two.
 */

/** Response headers an adapter sets; names in the spelling to send. */
export type ReplyHeaders = Readonly<Record<string, string | readonly string[]>>;

/** One request to the MCP endpoint, its limits already enforced. */
export interface HttpRequest {
  /** Who sends it, when another instance of the gateway has found that out; else it is told by the credential. */
  readonly principal?: { readonly key: string; readonly anonymous: boolean };
  readonly method: 'POST' | 'GET' | 'DELETE';
  /** Header values by lower-case name; a repeated header is joined with ", ". */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The peer's IP address, or "unknown". */
  readonly remoteAddress: string;
  /** The body, decoded from valid UTF-8 and without byte order mark; empty for GET and DELETE. */
  readonly body: string;
}

/** The answer to one request. Exactly one of `json`, `empty` and `stream` is used, once. */
export interface HttpReply {
  /** Whether an answer was begun. */
  readonly started: boolean;
  /** Whether the client went away before the answer was complete. */
  readonly closed: boolean;
  /** Calls back once when the client goes away before the answer is complete; at once when it already has. */
  onClose(listener: () => void): void;
  /** The answer comes later than the request has been served: nobody holds on to the request until then. */
  defer(): void;
  /** Answers with a JSON text. */
  json(status: number, body: string, headers?: ReplyHeaders): void;
  /** Answers without body and without Content-Type. */
  empty(status: number, headers?: ReplyHeaders): void;
  /** Answers 200 with an SSE stream; headers and a comment leave at once. */
  stream(headers?: ReplyHeaders): EventSink;
}

/** An open SSE response. Comments that keep it alive are the host's business. */
export interface EventSink {
  readonly open: boolean;
  /** Bytes accepted but not yet handed to the socket. */
  readonly bufferedBytes: number;
  /** Writes complete SSE blocks. Returns false when the writer should wait for `onDrain`. No effect once closed. */
  send(block: string): boolean;
  /** Calls back once at the next drain, or when the stream closes. */
  onDrain(listener: () => void): void;
  /** Calls back once when the stream is over, whoever ended it. */
  onClose(listener: () => void): void;
  /** Ends the response properly. */
  end(): void;
  /** Cuts the connection: for a reader that does not read. */
  destroy(): void;
}

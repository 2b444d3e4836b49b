import type { IncomingMessage, ServerResponse } from 'node:http';
import { checkAccept } from './accept.js';
import { checkBodyHeaders, readBody } from './body.js';
import type { Concurrency } from './concurrency.js';
import type { HttpOptions, HttpRequestHead } from './options.js';
import { refusal } from './refusal.js';
import type { ResponseReply } from './reply.js';

const ALLOW = { Allow: 'POST, GET, DELETE' };

/** Takes requests for an MCP endpoint through their limits and hands them to the core. */
export class McpEndpoint {
  readonly #options: HttpOptions;
  readonly #concurrency: Concurrency;

  constructor(options: HttpOptions, concurrency: Concurrency) {
    this.#options = options;
    this.#concurrency = concurrency;
  }

  /**
   * Answers one request.
   * @throws GatewayError for whatever is refused; anything the core throws
   */
  async answer(
    upstream: string,
    headers: HttpRequestHead['headers'],
    response: ServerResponse,
    reply: ResponseReply,
  ): Promise<void> {
    const request = response.req;
    const { method } = request;
    if (method !== 'POST' && method !== 'GET' && method !== 'DELETE') {
      throw refusal(405, `The MCP endpoint takes POST, GET and DELETE, not ${method ?? 'this'}.`, ALLOW);
    }
    if (method !== 'DELETE') checkAccept(method, headers['accept']);
    if (method === 'POST') checkBodyHeaders(headers, this.#options.limits.bodyBytes);
    const head: HttpRequestHead = { method, headers, remoteAddress: peerAddress(request) };
    reply.longLived = this.#options.opensStream?.(head) ?? method === 'GET';
    const slot = this.#concurrency.enter(this.#key(head), reply.longLived);
    reply.onDone(() => slot.release());
    const body = await this.#body(response);
    if (body === undefined) return;
    slot.run(body);
    await this.#options.serve(upstream, { ...head, body }, reply);
    if (!reply.started && !reply.closed && !reply.deferred)
      throw new Error(`A ${method} was left without an answer.`);
  }

  async #body(response: ServerResponse): Promise<string | undefined> {
    const { limits, timeouts } = this.#options;
    if (response.req.method === 'POST') {
      return readBody(response, { bodyBytes: limits.bodyBytes, bodyMs: timeouts.bodyMs });
    }
    // A body where none belongs: left unread it would stop the socket, and the client's end would go unnoticed.
    response.req.resume();
    return '';
  }

  /** Whom the request counts for. The two kinds of key cannot meet. */
  #key(head: HttpRequestHead): string {
    const principal = this.#options.principalKey?.(head);
    return principal === undefined ? `address ${head.remoteAddress}` : `principal ${principal}`;
  }
}

/** The peer's address; IPv4 as such also on a socket that takes both. */
function peerAddress(request: IncomingMessage): string {
  return request.socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/i, '') ?? 'unknown';
}

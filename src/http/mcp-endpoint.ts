import type { IncomingMessage, ServerResponse } from 'node:http';
import { checkAccept } from './accept.js';
import { checkBodyHeaders, readBody } from './body.js';
import type { Concurrency } from './concurrency.js';
import type { HttpOptions, HttpRequestHead } from './options.js';
import type { HttpRequest } from './port.js';
import { refusal } from './refusal.js';
import type { ResponseReply } from './reply.js';

const ALLOW = { Allow: 'POST, GET, DELETE' };

/** Takes a request for an MCP endpoint through its limits and hands it to the core. */
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
    headers: HttpRequest['headers'],
    request: IncomingMessage,
    response: ServerResponse,
    reply: ResponseReply,
  ): Promise<void> {
    const { method } = request;
    if (method !== 'POST' && method !== 'GET' && method !== 'DELETE') {
      throw refusal(405, `The MCP endpoint takes POST, GET and DELETE, not ${method ?? 'this'}.`, ALLOW);
    }
    if (method !== 'DELETE') checkAccept(method, headers['accept']);
    const { bodyBytes } = this.#options.limits;
    if (method === 'POST') checkBodyHeaders(headers, bodyBytes);
    const head: HttpRequestHead = { method, headers, remoteAddress: peerAddress(request) };
    const key = this.#key(head);
    if (this.#opensStream(head)) {
      reply.onDone(this.#concurrency.enterStream(key));
      const body = method === 'POST' ? await this.#body(request, response) : '';
      if (body !== undefined) await this.#serve(upstream, { ...head, body }, reply);
      return;
    }
    const slot = this.#concurrency.enter(key);
    reply.onDone(() => slot.release());
    const body = method === 'POST' ? await this.#body(request, response) : '';
    if (body === undefined) return;
    slot.run(body);
    await this.#serve(upstream, { ...head, body }, reply);
  }

  #body(request: IncomingMessage, response: ServerResponse): Promise<string | undefined> {
    const { limits, timeouts } = this.#options;
    return readBody(request, response, { bodyBytes: limits.bodyBytes, bodyMs: timeouts.bodyMs });
  }

  async #serve(upstream: string, request: HttpRequest, reply: ResponseReply): Promise<void> {
    await this.#options.serve(upstream, request, reply);
    if (!reply.started && !reply.closed) throw new Error(`A ${request.method} was left without an answer.`);
  }

  /** Whom the request counts for. The two kinds of key cannot meet. */
  #key(head: HttpRequestHead): string {
    const principal = this.#options.principalKey?.(head);
    return principal === undefined ? `address ${head.remoteAddress}` : `principal ${principal}`;
  }

  #opensStream(head: HttpRequestHead): boolean {
    return this.#options.opensStream?.(head) ?? head.method === 'GET';
  }
}

/** The peer's address; IPv4 as such also on a socket that takes both. */
function peerAddress(request: IncomingMessage): string {
  return request.socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/i, '') ?? 'unknown';
}

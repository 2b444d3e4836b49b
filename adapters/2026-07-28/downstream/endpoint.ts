import type { AdapterContext, DownstreamHalf, Incoming } from '../../adapter.js';
import { principalOf } from '../../../src/auth/principal.js';
import { GatewayError } from '../../../src/errors/gateway-error.js';
import type { Caller, Era, Relay } from '../../../src/exchange/exchange.js';
import { paramHeaders, traceHeaders } from '../../../src/exchange/passed-headers.js';
import type { HttpReply, HttpRequest } from '../../../src/http/port.js';
import { INVALID_REQUEST, METHOD_NOT_FOUND } from '../../../src/jsonrpc/error-code.js';
import type { Message } from '../../../src/jsonrpc/message.js';
import { reservedMeta, reservedMetaString } from '../../../src/translation/reserved-meta.js';
import { LATEST_MODERN } from '../revisions.js';
import { PostExchange } from './post-exchange.js';
import { describeClient } from './validation.js';

/** What the modern era no longer has. @see /specification/2026-07-28/changelog */
const REMOVED_METHODS: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/list',
  'tasks/result',
]);

/** The gateway as a modern server. @see /specification/2026-07-28/basic/transports/streamable-http */
export class ModernEndpoint implements DownstreamHalf {
  readonly era: Era = 'modern';
  private readonly running = new Set<PostExchange>();

  constructor(private readonly context: AdapterContext) {}

  async serve(request: HttpRequest, incoming: Incoming, reply: HttpReply, relay: Relay): Promise<void> {
    const [message] = incoming.messages;
    if (request.method !== 'POST' || message === undefined || incoming.batch) {
      throw new GatewayError(
        INVALID_REQUEST,
        'the body of a POST is a single JSON-RPC request or notification',
        {
          status: 400,
        },
      );
    }
    const authorization = request.headers['authorization'];
    const caller: Caller = {
      principal: principalOf(authorization),
      remoteAddress: request.remoteAddress,
      ...(authorization !== undefined && { authorization }),
    };
    if (message.kind === 'request') await this.request(request, message, reply, relay, caller);
    else if (message.kind === 'notification') this.notification(request, message, reply, relay, caller);
    else {
      throw new GatewayError(
        INVALID_REQUEST,
        'a client sends no JSON-RPC responses in this protocol version',
        {
          status: 400,
        },
      );
    }
  }

  async close(): Promise<void> {
    return Promise.resolve();
  }

  private async request(
    request: HttpRequest,
    message: Message,
    reply: HttpReply,
    relay: Relay,
    caller: Caller,
  ): Promise<void> {
    const { config, servedRevisions } = this.context;
    const client = describeClient(request, message, {
      servedRevisions,
      hybridClients: config.compat.hybridClients,
    });
    if (REMOVED_METHODS.has(message.method ?? '')) {
      throw new GatewayError(METHOD_NOT_FOUND, `Method not found: ${message.method ?? ''}`, { status: 404 });
    }
    const exchange = new PostExchange(
      message,
      client,
      caller,
      { ...traceHeaders(request), ...paramHeaders(request) },
      reply,
      config.timeouts.streamCommitMs,
      config.limits.streamBufferBytes,
    );
    this.running.add(exchange);
    try {
      exchange.finish(await relay.run(exchange));
    } finally {
      this.running.delete(exchange);
    }
  }

  /**
   * A modern client has no notification of the core protocol to post; `notifications/cancelled` is sent by some when they
   * close a subscription, after closing its stream has said the same. Vendors' own are passed on.
   */
  private notification(
    request: HttpRequest,
    message: Message,
    reply: HttpReply,
    relay: Relay,
    caller: Caller,
  ): void {
    if (message.method !== 'notifications/cancelled') {
      const clientInfo = reservedMeta(message, 'clientInfo');
      const from = {
        era: this.era,
        client: {
          revision: reservedMetaString(message, 'protocolVersion') ?? LATEST_MODERN,
          capabilities: reservedMeta(message, 'clientCapabilities') ?? '{}',
          ...(clientInfo !== undefined && { clientInfo }),
        },
        caller,
        headers: traceHeaders(request),
        signal: new AbortController().signal,
      };
      relay.notify(from, message).catch((error: unknown) => {
        const problem = error instanceof Error ? error.message : 'unknown';
        this.context.log.debug(
          { method: message.method, problem },
          'a notification did not reach the upstream',
        );
      });
    }
    reply.empty(202);
  }
}

import { randomBytes } from 'node:crypto';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, createRequestStateCodec } from '@modelcontextprotocol/server';
import type { McpHttpHandler } from '@modelcontextprotocol/server';
import type { Change, PeerState } from './catalogue/fixture-tool.js';
import { openLoopbackEndpoint } from './loopback-endpoint.js';
import type { EndpointOptions } from './loopback-endpoint.js';
import { buildModernServer } from './modern-exchange.js';
import type { SealedAnswers } from './modern-exchange.js';
import { PeerServer } from './peer-server.js';

export interface ModernServerOptions extends Pick<EndpointOptions, 'port' | 'path' | 'intercept'> {
  readonly name?: string;
  /** `auto` answers JSON until a handler emits something; `sse` always streams. */
  readonly responses?: 'auto' | 'sse';
  /** Cache hints of the list results; `ttlMs: 0, cacheScope: 'private'` by default. */
  readonly cacheHint?: { readonly ttlMs: number; readonly cacheScope: 'public' | 'private' };
  readonly keepAliveMs?: number;
  /** Items per list page; everything on one page by default. */
  readonly pageSize?: number;
  /** How long a `requestState` is accepted, in seconds. */
  readonly stateTtlSeconds?: number;
}

/** A running modern server (SDK v2: revision 2026-07-28 only, stateless). */
export class ModernServer extends PeerServer {
  private readonly handler: McpHttpHandler;

  private constructor(options: ModernServerOptions) {
    super();
    const state: PeerState = { counter: 0 };
    const codec = createRequestStateCodec<SealedAnswers>({
      key: randomBytes(32),
      ttlSeconds: options.stateTtlSeconds ?? 600,
    });
    this.handler = createMcpHandler(
      () =>
        buildModernServer({
          log: this.log,
          name: options.name ?? 'modern-peer',
          pageSize: options.pageSize,
          cacheHint: options.cacheHint,
          state,
          codec,
          announce: (change) => this.announce(change),
        }),
      {
        legacy: 'reject',
        responseMode: options.responses ?? 'auto',
        ...(options.keepAliveMs !== undefined && { keepAliveMs: options.keepAliveMs }),
      },
    );
  }

  static async start(options: ModernServerOptions): Promise<ModernServer> {
    const server = new ModernServer(options);
    const serve = toNodeHandler(server.handler);
    server.endpoint = await openLoopbackEndpoint({
      ...options,
      log: server.log,
      handle: (req, res, seen) => serve(req as any, res, seen.message),
    });
    return server;
  }

  /** Announces a change to every open `subscriptions/listen` stream that asked for its kind. */
  announce(change: Change): Promise<void> {
    const { notify } = this.handler;
    if (change === 'tools') notify.toolsChanged();
    else if (change === 'prompts') notify.promptsChanged();
    else if (change === 'resources') notify.resourcesChanged();
    else notify.resourceUpdated(change.uri);
    return Promise.resolve();
  }

  /** Ends open subscriptions with their result first, then every connection. */
  async close(): Promise<void> {
    await this.handler.close();
    await this.endpoint.close();
  }
}

/** Starts a modern server on 127.0.0.1 with every fixture; close it when done. */
export async function startModernServer(options: ModernServerOptions = {}): Promise<ModernServer> {
  return ModernServer.start(options);
}

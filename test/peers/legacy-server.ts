import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { StreamableHTTPServerTransportOptions } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Change } from './catalogue/fixture-tool.js';
import { LegacyEventStore } from './legacy-event-store.js';
import { LegacySession } from './legacy-session.js';
import { answerError, openLoopbackEndpoint } from './loopback-endpoint.js';
import type { EndpointOptions } from './loopback-endpoint.js';
import type { SeenRequest } from './peer-log.js';
import { PeerServer } from './peer-server.js';

export interface LegacyServerOptions extends Pick<EndpointOptions, 'port' | 'path' | 'intercept'> {
  readonly name?: string;
  /** `false` serves without sessions, as many deployed servers do: questions and the GET stream do not work. */
  readonly sessions?: boolean;
  /** `true` answers with JSON bodies instead of streams: notifications and questions are lost. */
  readonly jsonResponses?: boolean;
  /** `false` keeps no events: no event ids, no priming, no resume. */
  readonly resumable?: boolean;
  /** The newest revision this server speaks; it answers `initialize` with this one or the client's older one. */
  readonly newestRevision?: string;
  /** The `retry:` of priming events, in milliseconds. */
  readonly retryMs?: number;
  readonly keepAliveMs?: number;
  /** Items per list page; everything on one page by default. */
  readonly pageSize?: number;
}

/** A running legacy server (SDK v1: revisions up to 2025-11-25, `initialize`, sessions). */
export class LegacyServer extends PeerServer {
  /** The live sessions by id. */
  readonly sessions = new Map<string, LegacySession>();
  /** Sessions opened since the start, closed ones included. */
  sessionsCreated = 0;

  private constructor(private readonly options: LegacyServerOptions) {
    super();
  }

  static async start(options: LegacyServerOptions): Promise<LegacyServer> {
    const server = new LegacyServer(options);
    server.endpoint = await openLoopbackEndpoint({
      ...options,
      log: server.log,
      handle: (req, res, seen) => server.handle(req, res, seen),
    });
    return server;
  }

  /** Announces a change to every session. */
  async announce(change: Change): Promise<void> {
    await Promise.all([...this.sessions.values()].map((session) => session.deliver(change)));
  }

  /** Forgets every session, as a restart would: their ids are answered with 404 from now on. */
  async forgetSessions(): Promise<void> {
    const sessions = [...this.sessions.values()];
    this.sessions.clear();
    await Promise.all(sessions.map((session) => session.server.close()));
  }

  async close(): Promise<void> {
    await this.forgetSessions();
    await this.endpoint.close();
  }

  private async handle(req: IncomingMessage, res: ServerResponse, seen: SeenRequest): Promise<void> {
    if (this.options.sessions === false) return this.handleWithoutSession(req, res, seen);
    const id = req.headers['mcp-session-id'];
    if (typeof id === 'string') {
      const session = this.sessions.get(id);
      if (!session?.transport) {
        answerError(res, 404, -32001, 'Session not found');
        return;
      }
      return session.transport.handleRequest(req, res, seen.message);
    }
    if (seen.method !== 'initialize') {
      answerError(res, 400, -32000, 'Bad Request: no Mcp-Session-Id and not an initialize request');
      return;
    }
    const session = await this.open({ sessionIdGenerator: () => randomUUID() });
    return session.transport?.handleRequest(req, res, this.negotiable(seen.message));
  }

  private async handleWithoutSession(
    req: IncomingMessage,
    res: ServerResponse,
    seen: SeenRequest,
  ): Promise<void> {
    if (seen.httpMethod !== 'POST') {
      res.setHeader('allow', 'POST');
      answerError(res, 405, -32000, 'Method not allowed.');
      return;
    }
    const session = await this.open({});
    res.once('close', () => void session.server.close());
    return session.transport?.handleRequest(req, res, this.negotiable(seen.message));
  }

  private async open(extra: StreamableHTTPServerTransportOptions): Promise<LegacySession> {
    const { options } = this;
    const session = new LegacySession({
      log: this.log,
      name: options.name ?? 'legacy-peer',
      pageSize: options.pageSize,
      announce: (change) => this.announce(change),
    });
    const transport = new StreamableHTTPServerTransport({
      ...extra,
      enableJsonResponse: options.jsonResponses ?? false,
      retryInterval: options.retryMs ?? 300,
      ...(options.keepAliveMs !== undefined && { keepAliveMs: options.keepAliveMs }),
      ...(options.resumable !== false && { eventStore: new LegacyEventStore() }),
      onsessioninitialized: (id) => {
        this.sessionsCreated += 1;
        this.sessions.set(id, session);
      },
      onsessionclosed: (id) => {
        this.sessions.delete(id);
      },
    });
    session.transport = transport;
    await session.server.connect(transport);
    return session;
  }

  /**
   * The SDK negotiates every revision it knows. An older server is had by asking it for the older revision in the
   * client's place; dates compare as strings.
   */
  private negotiable(message: any): unknown {
    const newest = this.options.newestRevision;
    if (newest === undefined || message?.method !== 'initialize') return message;
    const asked = String(message.params?.protocolVersion);
    const protocolVersion = /^\d{4}-\d\d-\d\d$/.test(asked) && asked < newest ? asked : newest;
    return { ...message, params: { ...message.params, protocolVersion } };
  }
}

/** Starts a legacy server on 127.0.0.1 with every fixture; close it when done. */
export async function startLegacyServer(options: LegacyServerOptions = {}): Promise<LegacyServer> {
  return LegacyServer.start(options);
}

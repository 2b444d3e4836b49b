import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { type LoopbackEndpoint, openLoopbackEndpoint } from './loopback-endpoint.js';
import type { EndpointOptions } from './loopback-endpoint.js';
import { PeerLog } from './peer-log.js';
import type { CancelledNotice, SeenRequest } from './peer-log.js';

/** Answers one request, in whatever way: `res` is node's own. */
export type Script = (request: SeenRequest, res: ServerResponse) => void | Promise<void>;

/**
 * An upstream that does exactly what a test says, for what real servers cannot be made to do: bad bytes, wrong types,
 * a close in the middle of a body.
 */
export class ScriptedServer {
  readonly log = new PeerLog();
  private endpoint!: LoopbackEndpoint;

  private constructor(private script: Script) {}

  static async start(script: Script, options: ScriptedServerOptions): Promise<ScriptedServer> {
    const server = new ScriptedServer(script);
    server.endpoint = await openLoopbackEndpoint({
      ...options,
      log: server.log,
      handle: (_req, res, seen) => server.script(seen, res),
    });
    return server;
  }

  /** From now on another script answers. */
  become(script: Script): void {
    this.script = script;
  }

  get url(): string {
    return this.endpoint.url;
  }

  get port(): number {
    return this.endpoint.port;
  }

  get requests(): SeenRequest[] {
    return this.log.requests;
  }

  get cancelled(): CancelledNotice[] {
    return this.log.cancelled;
  }

  requestsFor(method: string): SeenRequest[] {
    return this.log.requestsFor(method);
  }

  dropConnections(): void {
    this.endpoint.dropConnections();
  }

  close(): Promise<void> {
    return this.endpoint.close();
  }
}

export type ScriptedServerOptions = Pick<EndpointOptions, 'port' | 'path' | 'tls' | 'intercept'>;

export async function startScriptedServer(
  script: Script,
  options: ScriptedServerOptions = {},
): Promise<ScriptedServer> {
  return ScriptedServer.start(script, options);
}

/** Answers with this body: text as it is, anything else as JSON. */
export function answer(
  res: ServerResponse,
  status: number,
  body: string | Buffer | object | null = '',
  headers: OutgoingHttpHeaders = { 'content-type': 'application/json' },
): void {
  res.writeHead(status, headers);
  res.end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body));
}

/** The JSON text of the response to a request. `result` as text goes in byte for byte. */
export function resultText(request: SeenRequest, result: string | object = {}): string {
  const text = typeof result === 'string' ? result : JSON.stringify(result);
  return `{"jsonrpc":"2.0","id":${JSON.stringify(request.message.id)},"result":${text}}`;
}

/** Answers a request with a result, as JSON. */
export function answerResult(
  res: ServerResponse,
  request: SeenRequest,
  result: string | object = {},
  headers: OutgoingHttpHeaders = {},
): void {
  answer(res, 200, resultText(request, result), { 'content-type': 'application/json', ...headers });
}

/** Answers a request with a JSON-RPC error. */
export function answerRpcError(
  res: ServerResponse,
  request: SeenRequest,
  status: number,
  code: number,
  message = 'scripted',
  data?: unknown,
): void {
  const error = { code, message, ...(data !== undefined && { data }) };
  answer(res, status, { jsonrpc: '2.0', id: request.message.id ?? null, error });
}

/** An event stream being written. */
export interface ScriptedStream {
  /** Writes a message as one event: text as it is, anything else as JSON. */
  send(message: string | object, id?: string): void;
  /** Writes bytes as they are. */
  raw(text: string | Buffer): void;
  end(): void;
  /** Cuts the connection. */
  cut(): void;
}

/** Opens an event stream as the answer. */
export function openStream(res: ServerResponse, headers: OutgoingHttpHeaders = {}): ScriptedStream {
  res.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
  res.flushHeaders();
  return {
    send: (message, id) => {
      const data = typeof message === 'string' ? message : JSON.stringify(message);
      res.write(`${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`);
    },
    raw: (text) => res.write(text),
    end: () => res.end(),
    cut: () => res.destroy(),
  };
}

/** A progress notification for the request, under the token it carried. */
export function progressFor(request: SeenRequest, progress: number, extra: object = {}): object {
  const progressToken = request.message.params?._meta?.progressToken;
  return {
    jsonrpc: '2.0',
    method: 'notifications/progress',
    params: { progressToken, progress, ...extra },
  };
}

export interface LegacyScriptOptions {
  /** Answers `server/discover`; a refusal for want of a session by default, as the SDK's server gives. */
  readonly discover?: Script;
  readonly initialize?: Script;
  /** Answers notifications and responses; 202 by default. */
  readonly notification?: Script;
  /** Answers GET; 405 by default. */
  readonly get?: Script;
  readonly capabilities?: object;
  readonly revision?: string;
  /** Members of the InitializeResult besides. */
  readonly initializeResult?: object;
  /** `false` keeps no sessions. */
  readonly sessions?: boolean;
}

/** The script of a legacy server whose calls, and whatever else is asked, are answered by `calls`. */
export function legacyScript(calls: Script, options: LegacyScriptOptions = {}): Script {
  let sessions = 0;
  return (request, res) => {
    const { method, httpMethod } = request;
    if (httpMethod === 'GET') {
      if (options.get) return options.get(request, res);
      answer(res, 405, '', { allow: 'POST' });
    } else if (httpMethod === 'DELETE') {
      answer(res, 200, '', {});
    } else if (method === 'server/discover') {
      if (options.discover) return options.discover(request, res);
      answer(res, 400, { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'No valid session ID' } });
    } else if (method === 'initialize') {
      if (options.initialize) return options.initialize(request, res);
      sessions++;
      const headers = options.sessions === false ? {} : { 'mcp-session-id': `session-${sessions}` };
      answerResult(res, request, initializeResult(request, options), headers);
    } else if (request.message?.id === undefined || method === undefined) {
      if (options.notification) return options.notification(request, res);
      answer(res, 202, '', {});
    } else if (method === 'logging/setLevel' || method === 'ping') {
      answerResult(res, request);
    } else {
      return calls(request, res);
    }
  };
}

function initializeResult(request: SeenRequest, options: LegacyScriptOptions): object {
  return {
    protocolVersion: options.revision ?? request.message.params.protocolVersion,
    capabilities: options.capabilities ?? { tools: {} },
    serverInfo: { name: 'scripted-legacy', version: '1' },
    ...options.initializeResult,
  };
}

export interface ModernScriptOptions {
  readonly discover?: Script;
  /** The tools that `tools/list` shows; `calls` answers it when absent. */
  readonly tools?: readonly object[];
  readonly capabilities?: object;
}

/** The script of a modern server whose calls, and whatever else is asked, are answered by `calls`. */
export function modernScript(calls: Script, options: ModernScriptOptions = {}): Script {
  return (request, res) => {
    const { method, httpMethod } = request;
    if (httpMethod !== 'POST') answer(res, 405, '', { allow: 'POST' });
    else if (method === 'server/discover') {
      if (options.discover) return options.discover(request, res);
      answerResult(res, request, discoverResult(options.capabilities));
    } else if (request.message?.id === undefined) answer(res, 202, '', {});
    else if (method === 'tools/list' && options.tools !== undefined) {
      answerResult(res, request, {
        resultType: 'complete',
        tools: options.tools,
        ttlMs: 0,
        cacheScope: 'private',
      });
    } else {
      return calls(request, res);
    }
  };
}

/** A DiscoverResult. */
export function discoverResult(
  capabilities: object = { tools: {} },
  supportedVersions: unknown = ['2026-07-28'],
): object {
  return {
    resultType: 'complete',
    supportedVersions,
    capabilities,
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'scripted-modern', version: '1' } },
  };
}

/** A tool with an object schema that takes anything. */
export function scriptedTool(name: string, extra: object = {}): object {
  return { name, description: name, inputSchema: { type: 'object' }, ...extra };
}

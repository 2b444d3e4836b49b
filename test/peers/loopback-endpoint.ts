import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { PeerLog, SeenRequest } from './peer-log.js';

/** Serves one recorded request. `parsedBody` is `undefined` for requests without a body. */
export type EndpointHandler = (
  req: IncomingMessage,
  res: ServerResponse,
  seen: SeenRequest,
) => Promise<void> | void;

export interface EndpointOptions {
  readonly log: PeerLog;
  readonly handle: EndpointHandler;
  /** Port to listen on; 0, the default, takes a free one. A fixed port lets a test restart a peer in place. */
  readonly port?: number;
  readonly path?: string;
  /**
   * Runs before the peer sees the request and may answer it; `true` means it did. For faults: a 401, a 503,
   * silence.
   */
  readonly intercept?: (seen: SeenRequest, res: ServerResponse) => boolean | Promise<boolean>;
  /** Key and certificate in PEM form; then the endpoint is https. */
  readonly tls?: { readonly key: string; readonly cert: string };
}

export interface LoopbackEndpoint {
  readonly url: string;
  readonly port: number;
  /** Cuts every open connection, as a crash or an impatient intermediary would. */
  dropConnections(): void;
  close(): Promise<void>;
}

/** Starts an HTTP server on 127.0.0.1 that records every request before the peer handles it. */
export async function openLoopbackEndpoint(options: EndpointOptions): Promise<LoopbackEndpoint> {
  const path = options.path ?? '/mcp';
  const listener = (req: IncomingMessage, res: ServerResponse): void => {
    void serve(req, res, options, path).catch((error: unknown) => {
      if (res.headersSent) res.destroy();
      else answerError(res, 500, -32603, String(error));
    });
  };
  const { tls } = options;
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  // A peer must not be what ends a stream that a test keeps open for minutes.
  server.requestTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}${path}`,
    port,
    dropConnections: () => server.closeAllConnections(),
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Answers with a JSON-RPC error body whose id is null, as the SDK transports do before they know an id. */
export function answerError(res: ServerResponse, status: number, code: number, message: string): void {
  res.writeHead(status, { 'content-type': 'application/json' });
  res.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }));
}

async function serve(
  req: IncomingMessage,
  res: ServerResponse,
  options: EndpointOptions,
  path: string,
): Promise<void> {
  const body = await readBody(req);
  const message = parseJson(body);
  const seen: SeenRequest = {
    httpMethod: req.method ?? 'GET',
    path: req.url ?? '/',
    headers: req.headers,
    body,
    message,
    method: typeof message?.method === 'string' ? message.method : undefined,
    at: performance.now(),
  };
  res.once('close', () => {
    seen.status = res.statusCode;
    seen.ended = res.writableFinished ? 'finished' : 'dropped';
    options.log.noteEnd(seen);
  });
  options.log.noteRequest(seen);
  if (options.intercept && (await options.intercept(seen, res))) return;
  if (isForeign(req)) {
    answerError(res, 403, -32000, 'Forbidden: Host or Origin is not local');
    return;
  }
  if (seen.path.split('?')[0] !== path) {
    answerError(res, 404, -32000, 'Not found');
    return;
  }
  if (seen.httpMethod === 'POST' && message === undefined) {
    answerError(res, 400, -32700, 'Parse error: the body is not JSON');
    return;
  }
  await options.handle(req, res, seen);
}

async function readBody(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function parseJson(text: string): any {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const LOCAL_NAMES = new Set(['localhost', '127.0.0.1', '[::1]']);

/** DNS rebinding: a local server answers only requests addressed to, and sent from, a local name. */
function isForeign(req: IncomingMessage): boolean {
  const host = hostnameOf(`http://${req.headers.host ?? ''}`);
  const origin = req.headers.origin;
  return !LOCAL_NAMES.has(host) || (origin !== undefined && !LOCAL_NAMES.has(hostnameOf(origin)));
}

function hostnameOf(url: string): string {
  try {
    return new URL(url).hostname;
  } catch {
    return '';
  }
}

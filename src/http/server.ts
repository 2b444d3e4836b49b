import { createServer, STATUS_CODES, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { GATEWAY_CODE } from '../errors/gateway-error.js';
import { printError } from '../jsonrpc/print.js';
import type { HttpApp } from './app.js';

/** A server that takes connections. */
export interface HttpServer {
  /** Origin of the server, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /**
   * Takes no more requests, ends idle streams, waits up to `graceMs` milliseconds for the replies in progress,
   * and then destroys what is left. Never rejects.
   */
  close(options?: CloseOptions): Promise<void>;
}

export interface CloseOptions {
  readonly graceMs?: number;
  /** Called when the grace is over and the connections still stand: what is left can be answered here. */
  readonly lastWords?: () => Promise<void>;
}

/** Arrival of a header section unless configured, in milliseconds. */
const HEADERS_MS = 10_000;

/** Life of an idle connection unless configured, in milliseconds. */
const IDLE_MS = 65_000;

/** What node's own bound on a whole request leaves to the one on the body, so that ours answers first. */
const SLACK_MS = 1_000;

/** How long the ends of streams may travel before their connections are cut, in milliseconds. */
const FLUSH_MS = 250;

/**
 * Starts to listen; resolves once connections are taken. Port 0 lets the system choose one.
 * @throws Error of the system, such as EADDRINUSE
 */
export async function listen(
  app: HttpApp,
  address: { readonly host: string; readonly port: number },
): Promise<HttpServer> {
  const server = createNodeServer(app);
  server.listen({ host: address.host, port: address.port });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  let closing: Promise<void> | undefined;
  return {
    url: `http://${host}:${port}`,
    port,
    close: (options = {}) => (closing ??= close(server, app, options)),
  };
}

function createNodeServer(app: HttpApp): Server {
  const { limits, timeouts } = app.options;
  const headersMs = timeouts.headersMs ?? HEADERS_MS;
  const server = createServer({
    noDelay: true,
    // A peer that vanished without a word is noticed also where nothing is being sent.
    keepAlive: true,
    keepAliveInitialDelay: timeouts.keepAliveMs,
    maxHeaderSize: limits.headerBytes,
    headersTimeout: headersMs,
    // Bounds the arrival of a request, refused bodies included, and never the answer.
    requestTimeout: headersMs + timeouts.bodyMs + SLACK_MS,
    connectionsCheckingInterval: Math.max(50, Math.min(headersMs, 5_000) / 4),
    keepAliveTimeout: timeouts.idleMs ?? IDLE_MS,
    // The app answers 400 itself, with a body that says why.
    requireHostHeader: false,
  });
  // Node would drop the headers beyond a count of its own in silence; the app counts and refuses.
  server.maxHeadersCount = 0;
  server.on('request', app.handler);
  // Without this listener node invites every announced body before anybody has looked at its headers.
  server.on('checkContinue', app.handler);
  // Pipelined requests add one listener each to their connection.
  server.on('connection', (socket: Socket) => socket.setMaxListeners(0));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (!socket.writable || error.code === 'ECONNRESET' || !app.running.awaitsNothingOn(socket))
      socket.destroy();
    else socket.end(malformed(error.code), () => socket.destroy());
  });
  return server;
}

/** The answer to what could not be read as a request. */
function malformed(code: string | undefined): string {
  const [status, message] =
    code === 'HPE_HEADER_OVERFLOW'
      ? [431, 'The headers are larger than the limit (headerBytes).']
      : code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? [408, 'The request did not arrive in time.']
        : [400, 'This is not a valid HTTP request.'];
  const body = printError(undefined, GATEWAY_CODE.refused, message);
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}

async function close(server: Server, app: HttpApp, options: CloseOptions): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  app.running.drain();
  await idleWithin(app, options.graceMs ?? 0);
  await options.lastWords?.();
  app.running.endStreams();
  await idleWithin(app, FLUSH_MS);
  server.closeAllConnections();
  await closed;
  // The server counts sockets down before they tell their replies.
  await idleWithin(app, FLUSH_MS);
}

function idleWithin(app: HttpApp, milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    app.running.onIdle(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

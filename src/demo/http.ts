import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HttpRequest } from '../http/port.js';
import { encodeEvent } from '../sse/event-encoder.js';

const MAX_BODY_BYTES = 1_048_576;

/** A demo server that takes connections. */
export interface RunningDemo {
  readonly url: string;
  close(): Promise<void>;
}

/** The answer to one request: JSON, or a stream as soon as there is an event to send before the answer. */
export class DemoReply {
  constructor(private readonly response: ServerResponse) {}

  /** Ends with a JSON text; on a stream it becomes the last event. */
  json(status: number, text: string, headers: Record<string, string> = {}): void {
    if (this.response.headersSent) this.response.end(encodeEvent(text));
    else this.response.writeHead(status, { ...headers, 'Content-Type': 'application/json' }).end(text);
  }

  empty(status: number, headers: Record<string, string> = {}): void {
    this.response.writeHead(status, headers).end();
  }

  /** Opens the stream, if it is not open. */
  stream(): void {
    if (this.response.headersSent) return;
    this.response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-cache, no-transform',
      'X-Accel-Buffering': 'no',
    });
    this.response.flushHeaders();
  }

  /** Sends one message ahead of the answer. */
  event(text: string): void {
    this.stream();
    this.response.write(encodeEvent(text));
  }

  /** Ends an open stream; no effect after the answer. */
  end(): void {
    this.response.end();
  }

  /** Calls back once when the client goes away before the answer. */
  onClose(listener: () => void): void {
    this.response.once('close', () => {
      if (!this.response.writableFinished) listener();
    });
  }
}

/** Answers one request. The path does not matter: a demo is one endpoint. */
export type DemoHandler = (request: HttpRequest, reply: DemoReply) => Promise<void>;

/** Listens on a free port of loopback. Not for the world: there is no more protection than loopback gives. */
export async function listenOnLoopback(handler: DemoHandler): Promise<RunningDemo> {
  const server = createServer((incoming, response) => {
    serve(incoming, response, handler).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : undefined);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function serve(incoming: IncomingMessage, response: ServerResponse, handler: DemoHandler) {
  const reply = new DemoReply(response);
  const { method } = incoming;
  // A web page can reach loopback too; it cannot hide where it comes from.
  if (!isLocal(`http://${incoming.headers.host ?? ''}`) || !isLocal(incoming.headers.origin)) {
    reply.empty(403);
  } else if (method !== 'POST' && method !== 'GET' && method !== 'DELETE') {
    reply.empty(405, { Allow: 'POST, GET, DELETE' });
  } else {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_BODY_BYTES) {
        reply.empty(413, { Connection: 'close' });
        return;
      }
      chunks.push(chunk);
    }
    const headers = Object.fromEntries(
      Object.entries(incoming.headers).map(([name, value]) => [
        name,
        Array.isArray(value) ? value.join(', ') : value,
      ]),
    );
    const body = Buffer.concat(chunks).toString('utf8');
    await handler({ method, headers, remoteAddress: '127.0.0.1', body }, reply);
  }
}

/** @see the security warning of /specification/2025-11-25/basic/transports#security-warning */
function isLocal(origin: string | undefined): boolean {
  if (origin === undefined) return true;
  if (!URL.canParse(origin)) return false;
  return ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(origin).hostname);
}

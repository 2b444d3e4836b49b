import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { type LoopbackEndpoint, answerError, openLoopbackEndpoint } from '../peers/loopback-endpoint.js';
import { PeerLog, type SeenRequest } from '../peers/peer-log.js';

const ENTRY = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js', import.meta.url),
);

/** How long a test waits for a line, in milliseconds. */
const PATIENCE_MS = 8000;

/** One session: a process of the server, and the transport that carries its messages, as they are, both ways. */
class FilesystemSession {
  private readonly process: StdioClientTransport;
  private readonly streaming = new EventEmitter<{ open: [] }>();
  private streamed = false;

  constructor(
    readonly transport: StreamableHTTPServerTransport,
    directories: readonly string[],
    private readonly said: (line: string) => void,
  ) {
    this.process = new StdioClientTransport({
      command: process.execPath,
      args: [ENTRY, ...directories],
      stderr: 'pipe',
    });
    transport.onmessage = (message) => void this.process.send(message);
    transport.onclose = () => void this.process.close();
    this.process.onmessage = (message) => void this.carry(message);
  }

  async start(): Promise<void> {
    const lines = createInterface({ input: this.process.stderr as Readable });
    lines.on('line', this.said);
    await this.process.start();
    await this.transport.start();
  }

  handle(req: IncomingMessage, res: ServerResponse, seen: SeenRequest): Promise<void> {
    const handled = this.transport.handleRequest(req, res, seen.message);
    if (seen.httpMethod === 'GET') {
      this.streamed = true;
      this.streaming.emit('open');
    }
    return handled;
  }

  /** The SDK drops what it has no stream for; a bridge that is any good keeps it until there is one. */
  private async carry(message: any): Promise<void> {
    if (message.method !== undefined && !this.streamed) await once(this.streaming, 'open');
    await this.transport.send(message);
  }
}

/** The public `server-filesystem`, which speaks stdio only, behind a bridge to Streamable HTTP. */
export class FilesystemServer {
  readonly log = new PeerLog();
  private readonly lines: string[] = [];
  private readonly news = new EventEmitter<{ line: [] }>();
  private readonly sessions = new Map<string, FilesystemSession>();
  private endpoint!: LoopbackEndpoint;

  /** @param directories those allowed to every client; those of a client with roots are its roots instead */
  static async start(...directories: string[]): Promise<FilesystemServer> {
    const server = new FilesystemServer();
    server.endpoint = await openLoopbackEndpoint({
      log: server.log,
      handle: (req, res, seen) => server.handle(req, res, seen, directories),
    });
    return server;
  }

  get url(): string {
    return this.endpoint.url;
  }

  /** What was answered when the server asked for roots, oldest first. */
  get roots(): any[] {
    return this.log.requests
      .filter(({ message }) => message?.result?.roots !== undefined || message?.error !== undefined)
      .map(({ message }) => message.result?.roots ?? message.error);
  }

  /** Waits until the server has written so many lines that begin like this. */
  async said(beginning: string, count = 1): Promise<void> {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    while (this.lines.filter((line) => line.startsWith(beginning)).length < count) {
      await once(this.news, 'line', { signal });
    }
  }

  async close(): Promise<void> {
    for (const { transport } of this.sessions.values()) await transport.close();
    await this.endpoint.close();
  }

  private async handle(
    req: IncomingMessage,
    res: ServerResponse,
    seen: SeenRequest,
    directories: readonly string[],
  ): Promise<void> {
    const known = this.sessions.get(String(req.headers['mcp-session-id']));
    if (known !== undefined) return known.handle(req, res, seen);
    if (seen.method !== 'initialize') {
      answerError(res, 400, -32000, 'Bad Request: no Mcp-Session-Id and not an initialize request');
      return;
    }
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void this.sessions.set(id, session),
      onsessionclosed: (id) => void this.sessions.delete(id),
    });
    const session = new FilesystemSession(transport, directories, (line) => {
      this.lines.push(line);
      this.news.emit('line');
    });
    await session.start();
    await session.handle(req, res, seen);
  }
}

import { type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http';
import { StringDecoder } from 'node:string_decoder';

/** One block of an event stream, as written: members are absent when no line of that kind was in it. */
export interface SseBlock {
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
  readonly retry?: string;
  readonly comment?: string;
  /** `performance.now()` at arrival, in milliseconds. */
  readonly at: number;
}

export interface RawRequest {
  readonly method?: 'POST' | 'GET' | 'DELETE' | 'PUT' | 'OPTIONS';
  /** Sent as they are; nothing is added but what HTTP itself needs. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The exact bytes of the body. */
  readonly body?: string | Buffer;
  /** Cuts the connection, before the response head too. */
  readonly signal?: AbortSignal;
}

/** How long a test waits for something that should come at once, in milliseconds. */
const PATIENCE_MS = 8000;

/** Sends a request on a connection of its own; resolves as soon as status and headers are there. */
export async function sendRaw(url: string, request: RawRequest = {}): Promise<RawResponse> {
  const { method = 'POST', headers = {}, body, signal } = request;
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const sentAt = performance.now();
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(url, {
      method,
      headers: { ...headers, ...length },
      agent: false,
      ...(signal && { signal }),
    });
    outgoing.once('response', (response) => resolve(new RawResponse(response, sentAt)));
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}

/** A response while it arrives: its bytes, and for an event stream its blocks. */
export class RawResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Everything received so far, decoded as UTF-8. */
  received = '';
  /** The blocks received so far, comments included. */
  readonly blocks: SseBlock[] = [];
  /** Milliseconds from sending the request to the response head. */
  readonly headMs: number;
  /** `finished`: the response ended properly. `cut`: the connection broke first, or this side closed it. */
  readonly ended: Promise<'finished' | 'cut'>;
  isOver = false;
  private taken = 0;
  private readonly parser = new BlockParser((block) => this.blocks.push(block));
  private readonly waiting = new Set<() => void>();

  constructor(
    private readonly response: IncomingMessage,
    sentAt: number,
  ) {
    this.status = response.statusCode ?? 0;
    this.headers = response.headers;
    this.headMs = performance.now() - sentAt;
    const decoder = new StringDecoder('utf8');
    response.on('data', (chunk: Buffer) => {
      const text = decoder.write(chunk);
      this.received += text;
      this.parser.feed(text);
      this.wake();
    });
    response.on('error', () => undefined);
    this.ended = new Promise((resolve) => {
      response.once('close', () => {
        this.isOver = true;
        resolve(response.complete ? 'finished' : 'cut');
        this.wake();
      });
    });
  }

  get isStream(): boolean {
    return this.headers['content-type'] === 'text/event-stream';
  }

  /** The JSON-RPC messages received on the stream so far, parsed. */
  get messages(): any[] {
    return this.blocks.filter(hasMessage).map((block) => JSON.parse(block.data ?? ''));
  }

  /** The next block not taken yet that matches; blocks before it are skipped. Default: one that carries a message. */
  async next(matches: (block: SseBlock) => boolean = hasMessage): Promise<SseBlock> {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      while (this.taken < this.blocks.length) {
        const block = this.blocks[this.taken++];
        if (block !== undefined && matches(block)) return block;
      }
      if (this.isOver) throw new Error(`The stream ended; received:\n${this.received}`);
      await this.change(deadline);
    }
  }

  /** The next message on the stream, parsed. */
  async nextMessage(): Promise<any> {
    return JSON.parse((await this.next()).data ?? '');
  }

  /** The whole body, once it has ended properly. */
  async text(): Promise<string> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!this.isOver) await this.change(deadline);
    if ((await this.ended) === 'cut') throw new Error(`The response was cut; received:\n${this.received}`);
    return this.received;
  }

  /** The text of the JSON-RPC response in it: the JSON body, or the one event with a result or an error. */
  async responseText(): Promise<string> {
    if (!this.isStream) return this.text();
    return (await this.next((block) => hasMessage(block) && isResponse(JSON.parse(block.data ?? ''))))
      .data as string;
  }

  /** The JSON-RPC response in it, parsed. */
  async rpc(): Promise<any> {
    return JSON.parse(await this.responseText());
  }

  /** Closes the connection without a word, as a client that goes away does. */
  close(): void {
    this.response.destroy();
  }

  private wake(): void {
    for (const wake of [...this.waiting]) wake();
  }

  private change(deadline: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const wake = (): void => {
        this.waiting.delete(wake);
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.waiting.delete(wake);
        reject(new Error(`Nothing more came within ${PATIENCE_MS} ms; received:\n${this.received}`));
      }, deadline - performance.now());
      this.waiting.add(wake);
    });
  }
}

export function hasMessage(block: SseBlock): boolean {
  return block.data !== undefined && block.data !== '';
}

export function isResponse(message: any): boolean {
  return message.method === undefined && ('result' in message || 'error' in message);
}

/** Reads blocks line by line, and keeps what a tolerant parser would hide: comments, empty data, bare ids. */
class BlockParser {
  private rest = '';
  private block: Record<string, string> = {};

  constructor(private readonly onBlock: (block: SseBlock) => void) {}

  feed(text: string): void {
    const lines = (this.rest + text).split(/\r\n|\n|\r/);
    this.rest = lines.pop() ?? '';
    for (const line of lines) this.line(line);
  }

  private line(line: string): void {
    if (line === '') {
      if (Object.keys(this.block).length > 0) this.onBlock({ ...this.block, at: performance.now() });
      this.block = {};
      return;
    }
    const colon = line.indexOf(':');
    const field = colon === 0 ? 'comment' : colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + (line.charAt(colon + 1) === ' ' ? 2 : 1));
    const before = this.block[field];
    this.block[field] = field === 'data' && before !== undefined ? `${before}\n${value}` : value;
  }
}

import { isAscii, isUtf8 } from 'node:buffer';
import { GATEWAY_CODE, GatewayError } from '../errors/gateway-error.js';
import { EventDecoder } from '../sse/event-decoder.js';
import type { ResponseHead, ResponseListener, RunningRequest, UpstreamHttp } from './upstream-http.js';

/** What a call hears while its response arrives. */
export interface ResponseReader {
  /** Status and headers came. */
  onHead?(head: ResponseHead): void;
  /** The upstream answers with an event stream. */
  onStream?(): void;
  /** One JSON text: the body of a JSON response, or the data of one event, whose id it may come with. */
  onText(text: string, id?: string): void;
  /** An event id, whether or not its block carried data. */
  onCursor?(id: string): void;
  /** `retry` in milliseconds. */
  onRetry?(ms: number): void;
}

/** How the response ended. */
export type ResponseEnd =
  /** 2xx, read to its end. `stream`: it was an event stream. */
  | { readonly kind: 'ended'; readonly head: ResponseHead; readonly stream: boolean }
  /** Any other status, with the beginning of its body. */
  | { readonly kind: 'status'; readonly head: ResponseHead; readonly body: string }
  /** No response, or a response that cannot be read. */
  | { readonly kind: 'failed'; readonly error: GatewayError; readonly sent: boolean };

/** Bounds of one response. */
export interface ResponseBounds {
  /** Largest JSON body or event, in bytes. */
  readonly maxBytes: number;
}

/** A request whose response is being read. `done` never rejects; it never settles once aborted. */
export interface ReadingRequest extends RunningRequest {
  readonly done: Promise<ResponseEnd>;
}

const ERROR_BODY_BYTES = 1 << 20;

/** Sends a request to an upstream and reads whatever comes back as a series of JSON texts. */
export function readResponse(
  http: UpstreamHttp,
  request: Parameters<UpstreamHttp['request']>[0],
  reader: ResponseReader,
  bounds: ResponseBounds,
): ReadingRequest {
  let listener!: Listener;
  const done = new Promise<ResponseEnd>((resolve) => {
    listener = new Listener(reader, bounds.maxBytes, resolve);
  });
  const running = http.request(request, listener);
  listener.running = running;
  return {
    done,
    abort: () => running.abort(),
    pause: () => running.pause(),
    resume: () => running.resume(),
  };
}

class Listener implements ResponseListener {
  running: RunningRequest | undefined;
  private head: ResponseHead | undefined;
  private decoder: EventDecoder | undefined;
  private chunks: Buffer[] = [];
  private size = 0;
  private settled = false;

  constructor(
    private readonly reader: ResponseReader,
    private readonly maxBytes: number,
    private readonly resolve: (end: ResponseEnd) => void,
  ) {}

  private settle(end: ResponseEnd): void {
    if (this.settled) return;
    this.settled = true;
    this.resolve(end);
  }

  private fail(message: string, cause?: unknown): void {
    this.running?.abort();
    const error = new GatewayError(GATEWAY_CODE.upstreamProtocol, message, { status: 502, cause });
    this.settle({ kind: 'failed', error, sent: true });
  }

  onHead(head: ResponseHead): void {
    this.head = head;
    this.reader.onHead?.(head);
    const type = mediaType(head);
    if (isSuccess(head) && type === 'text/event-stream') {
      const { reader } = this;
      this.decoder = new EventDecoder(
        {
          onEvent: (data, id) => {
            if (data !== '' && !this.settled) reader.onText(data, id);
          },
          ...(reader.onCursor && { onCursor: (id: string) => reader.onCursor?.(id) }),
          onRetry: (ms) => reader.onRetry?.(ms),
        },
        this.maxBytes,
      );
      reader.onStream?.();
    }
  }

  onData(chunk: Buffer): void {
    if (this.settled || this.head === undefined) return;
    if (this.decoder !== undefined) {
      try {
        this.decoder.feed(chunk);
      } catch (error) {
        if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
        this.fail('the upstream sent an event stream that cannot be read', error);
      }
      return;
    }
    this.size += chunk.length;
    if (isSuccess(this.head)) {
      if (this.size > this.maxBytes)
        this.fail(`the upstream's response is larger than ${this.maxBytes} bytes`);
      else this.chunks.push(chunk);
    } else if (this.size <= ERROR_BODY_BYTES) {
      this.chunks.push(chunk);
    }
  }

  onEnd(): void {
    const { head } = this;
    if (this.settled || head === undefined) return;
    if (this.decoder !== undefined) {
      this.settle({ kind: 'ended', head, stream: true });
      return;
    }
    const bytes = this.chunks.length === 1 && this.chunks[0] ? this.chunks[0] : Buffer.concat(this.chunks);
    const ascii = isAscii(bytes);
    const body = ascii ? bytes.toString('latin1') : bytes.toString('utf8').replace(/^\uFEFF/, '');
    if (!isSuccess(head)) {
      this.settle({ kind: 'status', head, body });
      return;
    }
    if (/\S/.test(body)) {
      const type = mediaType(head);
      if (type !== 'application/json' && !type.endsWith('+json')) {
        this.fail(
          `the upstream answered ${head.status} with ${describeType(type)} instead of JSON or an event stream`,
        );
        return;
      }
      if (!ascii && !isUtf8(bytes)) {
        this.fail("the upstream's response is not valid UTF-8");
        return;
      }
      this.reader.onText(body);
    }
    this.settle({ kind: 'ended', head, stream: false });
  }

  onError(error: GatewayError, sent: boolean): void {
    this.settle({ kind: 'failed', error, sent });
  }
}

function isSuccess(head: ResponseHead): boolean {
  return head.status >= 200 && head.status < 300;
}

/** The media type of a response, lower case and without parameters; empty when it has none. */
export function mediaType(head: ResponseHead): string {
  const value = head.headers['content-type'];
  const first = Array.isArray(value) ? value[0] : value;
  return (first ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

function describeType(type: string): string {
  return type === ''
    ? 'a body without Content-Type'
    : type === 'text/html'
      ? 'an HTML page'
      : `"${type.slice(0, 80)}"`;
}

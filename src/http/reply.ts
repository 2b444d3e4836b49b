import type { IncomingMessage, ServerResponse } from 'node:http';
import { CLOSED_SINK, cutWhenStalled, ResponseEventSink, type StreamSettings } from './event-sink.js';
import { callAll, type ListenerList, withListener } from './listener-list.js';
import { mergeHeaders } from './reply-headers.js';
import type { EventSink, HttpReply, ReplyHeaders } from './port.js';

/** How long the rest of a refused body is read and thrown away before the connection is closed, in milliseconds. */
const LINGER_MS = 1000;

/** Most answers have none but their own. */
const NO_HEADERS: ReplyHeaders = {};

/** What is left of the head of a request whose answer has become a stream. */
const NO_LINES: string[] = [];
const NO_FIELDS: IncomingMessage['headers'] = {};

/** A stream is neither held back nor rewritten on its way, whatever is in between. */
const STREAM_HEADERS: ReplyHeaders = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
};

/** The answer to one request, written straight to node's response. */
export class ResponseReply implements HttpReply {
  readonly #response: ServerResponse;
  readonly #settings: StreamSettings;
  #closeListeners: ListenerList;
  #doneListeners: ListenerList;
  #common = NO_HEADERS;
  #sink: ResponseEventSink | undefined;
  /** Whether this is a stream that waits for nothing in particular, so that a shutdown need not wait for it. */
  longLived = false;
  #started = false;
  #deferred = false;
  #closing = false;
  #complete = false;
  #done = false;

  constructor(response: ServerResponse, settings: StreamSettings) {
    this.#response = response;
    this.#settings = settings;
    const { socket } = response.req;
    // Handed to the kernel in full. Node also says 'finish' when a socket that broke drops the rest.
    response.on('finish', () => (this.#complete = !socket.destroyed && socket.errored === null));
    // Neither is waited for with `once`, which holds three objects more for as long as the stream lasts.
    const settle = (): void => {
      if (this.#done) return;
      socket.off('close', settle);
      this.#settle();
    };
    response.on('close', settle);
    // A response queued behind another on its connection has no socket yet and says nothing when that one dies.
    socket.on('close', settle);
    // Writing to a peer that is gone; 'close' reports it.
    response.on('error', ignore);
    if (socket.destroyed) settle();
  }

  get started(): boolean {
    return this.#started;
  }

  /** Whether the answer may come later. */
  get deferred(): boolean {
    return this.#deferred;
  }

  defer(): void {
    this.#deferred = true;
  }

  get closed(): boolean {
    return this.#done && !this.#complete;
  }

  /** Whether the answer is an open SSE stream. */
  get streaming(): boolean {
    return this.#sink?.open === true;
  }

  /** Headers for whatever the answer will be, such as CORS. */
  always(headers: ReplyHeaders): void {
    this.#common = { ...this.#common, ...headers };
  }

  onClose(listener: () => void): void {
    if (!this.#done) this.#closeListeners = withListener(this.#closeListeners, listener);
    else if (!this.#complete) listener();
  }

  /** Calls back once when nothing more will be written, complete or not. */
  onDone(listener: () => void): void {
    if (this.#done) listener();
    else this.#doneListeners = withListener(this.#doneListeners, listener);
  }

  json(status: number, body: string, headers: ReplyHeaders = NO_HEADERS): void {
    if (!this.#start()) return;
    // Encoded once, for its length and for the socket.
    const bytes = Buffer.from(body);
    const length = String(bytes.length);
    if (headers === NO_HEADERS && this.#common === NO_HEADERS) {
      this.#started = true;
      const lines = [
        'Cache-Control',
        'no-store',
        'Content-Type',
        'application/json',
        'Content-Length',
        length,
      ];
      this.#response.writeHead(status, lines);
    } else {
      this.#head(status, headers, { 'Content-Type': 'application/json', 'Content-Length': length });
    }
    this.#finish(bytes);
  }

  empty(status: number, headers: ReplyHeaders = {}): void {
    if (!this.#start()) return;
    // Without it node would announce chunks; 204 must not have it (RFC 9110 section 8.6).
    this.#head(status, headers, status === 204 ? {} : { 'Content-Length': '0' });
    this.#finish('');
  }

  stream(headers: ReplyHeaders = {}): EventSink {
    if (!this.#start()) return CLOSED_SINK;
    this.#head(200, headers, STREAM_HEADERS);
    forgetHead(this.#response.req);
    this.#sink = new ResponseEventSink(this.#response, this.#settings);
    return this.#sink;
  }

  /** Ends an open stream properly. */
  endStream(): void {
    this.#sink?.end();
  }

  /** Cuts the connection of an answer that cannot be completed. */
  destroy(): void {
    this.#sink?.destroy();
    this.#response.destroy();
  }

  #start(): boolean {
    if (this.#started) throw new Error('The answer to this request was begun already.');
    if (this.#done) this.#started = true;
    return !this.#done;
  }

  /** @throws Error for a header with a line break or another invalid character; nothing is started then. */
  #head(status: number, headers: ReplyHeaders, own: ReplyHeaders): void {
    const lines: string[] = [];
    for (const [name, value] of mergeHeaders(
      { 'Cache-Control': 'no-store', ...own },
      headers,
      this.#common,
    )) {
      for (const single of typeof value === 'string' ? [value] : value) lines.push(name, single);
      if (name === 'Connection') this.#closing = value === 'close';
    }
    this.#response.writeHead(status, lines);
    this.#started = true;
  }

  #finish(body: string | Buffer): void {
    const { req } = this.#response;
    if (req.complete || !this.#closing) {
      this.#response.end(body);
      cutWhenStalled(this.#response, this.#settings.stallMs);
      return;
    }
    // Closing while the client still sends would reset the connection and could take the answer with it.
    this.#response.write(body);
    const end = (): void => {
      clearTimeout(timer);
      this.#response.end();
    };
    const timer = setTimeout(end, LINGER_MS);
    drain(req, end);
  }

  #settle(): void {
    if (this.#done) return;
    this.#done = true;
    this.#sink?.closed();
    const closeListeners = this.#closeListeners;
    const doneListeners = this.#doneListeners;
    this.#closeListeners = undefined;
    this.#doneListeners = undefined;
    if (!this.#complete) callAll(closeListeners);
    callAll(doneListeners);
  }
}

/** What a request said of itself has been read, and its stream may last for hours. */
function forgetHead(request: IncomingMessage): void {
  request.rawHeaders = NO_LINES;
  request.headers = NO_FIELDS;
}

function ignore(): void {
  // Nothing is left to be done.
}

function drain(request: IncomingMessage, end: () => void): void {
  request.once('end', end).once('close', end).resume();
}

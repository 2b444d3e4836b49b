import type { EventSink, HttpReply, ReplyHeaders } from '../http/port.js';
import type { Frame } from './frame.js';

/** Longest text one frame carries, in UTF-16 units: larger ones would fill the buffers between the instances. */
const MAX_TEXT = 256 * 1024;

type Said<F> = F extends unknown ? Omit<F, 'id' | 'from'> : never;

/** What the owner of a request says about it. */
export type Say = (frame: Said<Frame>) => void;

/** The answer to a request that another instance took from its client: everything said here is said there. */
export class ForwardedReply implements HttpReply {
  started = false;
  closed = false;
  private over = false;
  private sink: ForwardedSink | undefined;
  private readonly listeners: (() => void)[] = [];

  /** @param onOver called once when nothing more will be said, whoever ended it */
  constructor(
    private readonly say: Say,
    private readonly onOver: () => void,
  ) {}

  onClose(listener: () => void): void {
    if (this.closed) listener();
    else this.listeners.push(listener);
  }

  defer(): void {
    // Whoever said what it had to say has said it here too: nothing waits for the end of `serve`.
  }

  json(status: number, body: string, headers?: ReplyHeaders): void {
    this.started = true;
    const pieces = piecesOf(body);
    const last = pieces.pop() ?? '';
    for (const text of pieces) this.say({ kind: 'part', text });
    this.say({ kind: 'json', status, body: last, ...(headers && { headers }) });
    this.finish();
  }

  empty(status: number, headers?: ReplyHeaders): void {
    this.started = true;
    this.say({ kind: 'empty', status, ...(headers && { headers }) });
    this.finish();
  }

  stream(headers?: ReplyHeaders): EventSink {
    this.started = true;
    this.say({ kind: 'stream', ...(headers && { headers }) });
    this.sink = new ForwardedSink(this.say, () => this.finish());
    return this.sink;
  }

  /** The client went away, or the way to it broke. */
  lost(): void {
    if (this.over) return;
    this.closed = true;
    this.finish();
    this.sink?.lost();
    for (const listener of this.listeners.splice(0)) listener();
  }

  private finish(): void {
    if (this.over) return;
    this.over = true;
    this.onOver();
  }

  /** The client's instance handed on so much. */
  written(size: number): void {
    this.sink?.written(size);
  }
}

class ForwardedSink implements EventSink {
  open = true;
  bufferedBytes = 0;
  private readonly closeListeners: (() => void)[] = [];
  private readonly drainListeners: (() => void)[] = [];

  constructor(
    private readonly say: Say,
    private readonly onEnd: () => void,
  ) {}

  send(block: string): boolean {
    if (!this.open) return true;
    this.bufferedBytes += block.length;
    for (const text of piecesOf(block)) this.say({ kind: 'data', text });
    return this.bufferedBytes < MAX_TEXT;
  }

  onDrain(listener: () => void): void {
    if (this.open && this.bufferedBytes > 0) this.drainListeners.push(listener);
    else listener();
  }

  onClose(listener: () => void): void {
    if (this.open) this.closeListeners.push(listener);
    else listener();
  }

  end(): void {
    if (!this.open) return;
    this.onEnd();
    this.say({ kind: 'end' });
    this.lost();
  }

  destroy(): void {
    if (!this.open) return;
    this.onEnd();
    this.say({ kind: 'destroy' });
    this.lost();
  }

  written(size: number): void {
    this.bufferedBytes = Math.max(0, this.bufferedBytes - size);
    if (this.bufferedBytes < MAX_TEXT) for (const listener of this.drainListeners.splice(0)) listener();
  }

  lost(): void {
    if (!this.open) return;
    this.open = false;
    for (const listener of this.drainListeners.splice(0)) listener();
    for (const listener of this.closeListeners.splice(0)) listener();
  }
}

/** A text in pieces of which none ends within a character: each is encoded by itself where it is written. */
function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    let end = at + MAX_TEXT;
    if (end < text.length && isLowSurrogate(text.charCodeAt(end))) end--;
    pieces.push(text.slice(at, end));
    at = end;
  }
  return pieces;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

import { createParser } from 'eventsource-parser';

/** What a decoder tells of a stream. */
export interface DecoderListener {
  /** An event: `data` joined by newlines, `id` when its block had one. */
  onEvent(data: string, id: string | undefined): void;
  /** The cursor moved: an `id` field came, whether or not its block had data. Before `onEvent` of that block. */
  onCursor?(id: string): void;
  /** `retry` in milliseconds. */
  onRetry?(ms: number): void;
}

/**
 * Decodes an SSE byte stream.
 *
 * The parser drops the `id` of a block without `data`, but the SSE standard lets such a block move the cursor, and
 * legacy servers prime their clients with exactly that. So ids are also read line by line here.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export class EventDecoder {
  private readonly text = new TextDecoder('utf-8', { fatal: true });
  private readonly parser;
  private readonly ids: IdReader | undefined;
  /** The last chunk ended in a CR, which was taken for a whole line end. */
  private afterCr = false;

  /** @param maxSize bound on one event, in UTF-16 units */
  constructor(listener: DecoderListener, maxSize: number) {
    this.ids = 'onCursor' in listener ? new IdReader((id) => listener.onCursor?.(id)) : undefined;
    this.parser = createParser({
      maxBufferSize: maxSize,
      onEvent: (event) => listener.onEvent(event.data, event.id),
      onRetry: (ms) => listener.onRetry?.(ms),
      onError: (error) => {
        // Unknown fields and odd retry values are to be ignored; only the bound is an error.
        if (error.type === 'max-buffer-size-exceeded') throw new RangeError(error.message);
      },
    });
  }

  /** Feeds bytes. @throws RangeError an event beyond the bound; TypeError bytes that are not UTF-8 */
  feed(chunk: Uint8Array): void {
    let text = this.text.decode(chunk, { stream: true });
    if (text === '') return;
    // The parser holds a CR at the end of a chunk back until it has seen whether an LF follows. A stream that ends its
    // lines with CR would lose its last event that way, and get every other one late.
    if (this.afterCr && text.startsWith('\n')) text = text.slice(1);
    this.afterCr = text.endsWith('\r');
    if (this.afterCr) text += '\n';
    this.ids?.feed(text);
    this.parser.feed(text);
  }
}

/** Reads `id` fields out of an event stream, whatever the chunking. */
class IdReader {
  /** The start of a line whose end has not come; lines longer than this bound are no ids we would keep. */
  private line = '';
  private afterCr = false;
  private id: string | undefined;

  constructor(private readonly onId: (id: string) => void) {}

  feed(text: string): void {
    let from = 0;
    for (;;) {
      if (this.afterCr) {
        this.afterCr = false;
        if (text.charCodeAt(from) === 0x0a) from++;
      }
      const end = lineEnd(text, from);
      if (end === -1) {
        if (this.line.length < 1024) this.line += text.slice(from, from + 1024);
        return;
      }
      this.take(this.line + text.slice(from, Math.min(end, from + 1024)));
      this.line = '';
      this.afterCr = text.charCodeAt(end) === 0x0d;
      from = end + 1;
      if (from >= text.length) return;
    }
  }

  private take(line: string): void {
    if (line === '') {
      if (this.id !== undefined) this.onId(this.id);
      this.id = undefined;
    } else if (line.startsWith('id:')) {
      const value = line.slice(line.charAt(3) === ' ' ? 4 : 3);
      if (value !== '' && !value.includes('\0')) this.id = value;
    }
  }
}

const LINE_END = /[\r\n]/g;

function lineEnd(text: string, from: number): number {
  LINE_END.lastIndex = from;
  return LINE_END.exec(text)?.index ?? -1;
}

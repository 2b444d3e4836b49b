import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A TCP connection spoken to in bytes, for what HTTP clients would never send. */
export class RawConnection {
  /** Everything received, byte for byte. */
  received = '';
  /** When the first byte came, on the clock of `performance.now()`. */
  firstByteAt = Number.NaN;
  /** Resolves when the connection is over, however it ended. */
  readonly ended: Promise<void>;

  private constructor(readonly socket: Socket) {
    socket.setEncoding('latin1');
    socket.on('error', () => undefined);
    socket.on('data', (text: string) => {
      if (this.received === '') this.firstByteAt = performance.now();
      this.received += text;
    });
    this.ended = new Promise((resolve) => socket.once('close', () => resolve()));
  }

  static async open(port: number): Promise<RawConnection> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new RawConnection(socket);
  }

  send(text: string | Buffer): this {
    this.socket.write(text);
    return this;
  }

  /** Waits until what was received matches. */
  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.received)) {
      if (this.socket.destroyed) throw new Error(`Connection over; received: ${this.received}`);
      await Promise.race([once(this.socket, 'data'), this.ended]);
    }
    return this.received;
  }

  /** Waits until that many bytes were received; `until` would search large answers again and again. */
  async untilLength(bytes: number): Promise<void> {
    while (this.received.length < bytes) {
      if (this.socket.destroyed) throw new Error(`Connection over after ${this.received.length} bytes.`);
      await Promise.race([once(this.socket, 'data'), this.ended]);
    }
  }

  /** Waits for the end and returns everything received. */
  async all(): Promise<string> {
    await this.ended;
    return this.received;
  }
}

/** The text of a request; a Host header is added unless there is one. */
export function requestText(method: string, path: string, headers: readonly string[], body = ''): string {
  const lines = [`${method} ${path} HTTP/1.1`, ...headers];
  if (!headers.some((line) => /^host:/i.test(line))) lines.push('Host: localhost');
  if (body !== '' && !headers.some((line) => /^(content-length|transfer-encoding):/i.test(line))) {
    lines.push(`Content-Length: ${Buffer.byteLength(body)}`);
  }
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** Header lines every ordinary POST has. */
export const POST_HEADERS = [
  'Content-Type: application/json',
  'Accept: application/json, text/event-stream',
] as const;

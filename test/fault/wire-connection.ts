import { once } from 'node:events';
import { type Socket, connect } from 'node:net';

/** How a request ended. */
export type WireEnd =
  | { readonly kind: 'answer'; readonly status: number; readonly head: string; readonly body: string }
  /** The response is a stream that had not ended when the sender had seen enough. */
  | { readonly kind: 'stream'; readonly status: number; readonly head: string; readonly body: string }
  /** The connection ended before the response did. */
  | { readonly kind: 'closed'; readonly received: string }
  | { readonly kind: 'silence' }
  /** The sender cut the connection, as it meant to. */
  | { readonly kind: 'aborted' };

export interface SendOptions {
  /** Cut the connection after so many bytes were written. */
  readonly abortAt?: number;
  /** An open stream counts as an answer: do not wait for its end. */
  readonly headOnly?: boolean;
  /** Longest wait, in milliseconds. */
  readonly patienceMs: number;
}

/** A kept connection that sends exact bytes, one request after the other, and reopens itself. */
export class WireConnection {
  private socket: Socket | undefined;

  constructor(private readonly port: number) {}

  async send(bytes: Buffer, options: SendOptions): Promise<WireEnd> {
    const socket = await this.open();
    if (options.abortAt !== undefined) {
      socket.write(bytes.subarray(0, options.abortAt));
      await new Promise((resolve) => setTimeout(resolve, 2));
      this.close();
      return { kind: 'aborted' };
    }
    const response = this.receive(socket, options);
    socket.write(bytes);
    return response;
  }

  close(): void {
    this.socket?.destroy();
    this.socket = undefined;
  }

  private async open(): Promise<Socket> {
    if (this.socket !== undefined && !this.socket.destroyed && this.socket.writable) return this.socket;
    const socket = connect({ port: this.port, host: '127.0.0.1', noDelay: true });
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    this.socket = socket;
    return socket;
  }

  private receive(socket: Socket, options: SendOptions): Promise<WireEnd> {
    return new Promise((resolve) => {
      let received = '';
      const settle = (end: WireEnd, keep: boolean): void => {
        clearTimeout(timer);
        socket.off('data', onData).off('close', onClose);
        if (!keep) this.close();
        resolve(end);
      };
      const onData = (chunk: Buffer): void => {
        received += chunk.toString('latin1');
        const end = parse(received, options.headOnly ?? false);
        if (end === undefined) return;
        settle(end, end.kind === 'answer' && !/\r\nconnection: close/i.test(end.head));
      };
      const onClose = (): void => settle({ kind: 'closed', received }, false);
      const timer = setTimeout(() => settle({ kind: 'silence' }, false), options.patienceMs);
      socket.on('data', onData).once('close', onClose);
    });
  }
}

/** Reads a response out of what has come so far; undefined while it is not complete. */
function parse(received: string, headOnly: boolean): WireEnd | undefined {
  const split = received.indexOf('\r\n\r\n');
  if (split === -1) return undefined;
  const head = received.slice(0, split);
  const status = Number(head.slice(9, 12));
  const rest = received.slice(split + 4);
  // The interim answer is not the answer.
  if (status === 100) return parse(rest, headOnly);
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (length !== undefined) {
    if (rest.length < Number(length)) return undefined;
    return { kind: 'answer', status, head, body: utf8(rest.slice(0, Number(length))) };
  }
  if (status === 204 || status === 304) return { kind: 'answer', status, head, body: '' };
  const ended = rest.endsWith('0\r\n\r\n');
  if (!ended && !headOnly) return undefined;
  return { kind: ended ? 'answer' : 'stream', status, head, body: utf8(unchunked(rest)) };
}

function unchunked(text: string): string {
  let body = '';
  let at = 0;
  for (;;) {
    const line = text.indexOf('\r\n', at);
    if (line === -1) return body;
    const size = parseInt(text.slice(at, line), 16);
    if (!(size > 0)) return body;
    body += text.slice(line + 2, line + 2 + size);
    at = line + 2 + size + 2;
  }
}

function utf8(latin1: string): string {
  return Buffer.from(latin1, 'latin1').toString('utf8');
}

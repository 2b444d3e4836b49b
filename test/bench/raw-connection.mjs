import { once } from 'node:events';
import { connect } from 'node:net';

const END_OF_CHUNKS = Buffer.from('0\r\n\r\n');

/** A kept connection that carries one request at a time. */
export class RawConnection {
  #socket;
  #chunks = [];
  #size = 0;
  #need = -1;
  #head = '';
  #keepText = false;
  #settle;
  #fail;
  #watch;

  static async open(port) {
    const connection = new RawConnection();
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    connection.#socket = socket;
    socket.on('data', (chunk) => connection.#take(chunk));
    socket.on('error', (error) => connection.#fail?.(error));
    socket.on('close', () => connection.#fail?.(new Error('the connection was closed')));
    return connection;
  }

  /** Sends a request; resolves with the status and, when asked for, the text of the body. */
  send(bytes, keepText) {
    this.#chunks = [];
    this.#size = 0;
    this.#need = -1;
    this.#head = '';
    this.#keepText = keepText;
    return new Promise((resolve, reject) => {
      this.#settle = resolve;
      this.#fail = reject;
      this.#socket.write(bytes);
    });
  }

  /** Resolves with the match as soon as what came of the present answer contains the pattern. */
  until(pattern) {
    return new Promise((resolve) => {
      this.#watch = () => {
        const match = pattern.exec(Buffer.concat(this.#chunks).latin1Slice());
        if (match === null) return;
        this.#watch = undefined;
        resolve(match);
      };
    });
  }

  close() {
    this.#fail = undefined;
    this.#socket.destroy();
  }

  #take(chunk) {
    let rest = chunk;
    if (this.#head === '') {
      const end = chunk.indexOf('\r\n\r\n');
      if (end === -1) throw new Error('a head in two parts');
      this.#head = chunk.latin1Slice(0, end);
      const length = /content-length: (\d+)/i.exec(this.#head)?.[1];
      // 204 has neither a body nor a length.
      this.#need = this.#head.startsWith('HTTP/1.1 204') ? 0 : length === undefined ? -1 : Number(length);
      rest = chunk.subarray(end + 4);
    }
    this.#size += rest.length;
    if (this.#keepText) this.#chunks.push(rest);
    this.#watch?.();
    const status = Number(this.#head.slice(9, 12));
    const over =
      this.#need >= 0
        ? this.#size >= this.#need
        : rest.length >= 5 && rest.subarray(-5).equals(END_OF_CHUNKS);
    if (!over) return;
    const text = this.#keepText
      ? Buffer.concat(this.#chunks).latin1Slice()
      : status === 200
        ? undefined
        : chunk.latin1Slice();
    this.#settle({ status, text, head: this.#head });
  }
}

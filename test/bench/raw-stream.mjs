import { once } from 'node:events';
import { connect } from 'node:net';

/** A connection that carries one event stream, and counts what comes. */
export class RawStream {
  #socket;
  #marker;
  #left = 0;
  #text = '';
  #watch;
  #count;

  /**
   * Sends a request; resolves when the head and the first bytes of the stream have come.
   * @param {RegExp} begun what the first bytes match
   */
  static async open(port, request, begun) {
    const stream = new RawStream();
    stream.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    stream.#socket.on('data', (chunk) => stream.#take(chunk));
    // What is lost is noticed by what does not arrive.
    stream.#socket.on('error', () => undefined);
    await once(stream.#socket, 'connect');
    stream.#socket.write(request);
    stream.firstBytes = await stream.#until(begun);
    if (!stream.firstBytes.startsWith('HTTP/1.1 200')) throw new Error(`no stream: ${stream.firstBytes}`);
    return stream;
  }

  /** Calls back when text with this marker has come. */
  expect(marker, arrived) {
    this.#marker = Buffer.from(marker);
    this.#left = 1;
    this.#count = arrived;
  }

  /**
   * Resolves with how often `marker` came, as soon as `last` has come.
   * @param {string} marker
   * @param {string} last
   */
  async count(marker, last) {
    const text = await this.#until(new RegExp(last), this.firstBytes);
    return text.split(marker).length - 1;
  }

  close() {
    this.#socket.destroy();
  }

  #until(pattern, before = '') {
    this.#text = before;
    return new Promise((resolve) => {
      this.#watch = () => {
        if (!pattern.test(this.#text)) return;
        this.#watch = undefined;
        const text = this.#text;
        this.#text = '';
        resolve(text);
      };
      this.#watch();
    });
  }

  #take(chunk) {
    if (this.#watch !== undefined) {
      this.#text += chunk.latin1Slice();
      this.#watch();
      return;
    }
    if (this.#left > 0 && chunk.includes(this.#marker)) {
      this.#left = 0;
      this.#count();
    }
  }
}

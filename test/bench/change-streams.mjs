import { LISTEN_ACKNOWLEDGED, SUBSCRIPTION_ID } from './wire-text.mjs';

const STREAM_TYPE = { 'content-type': 'text/event-stream' };

/** The open streams of an upstream that carry changes, of either era. */
export class ChangeStreams {
  /** The id of the subscription of each; undefined for a GET. */
  #streams = new Map();

  get size() {
    return this.#streams.size;
  }

  /** A legacy client's standalone stream. */
  open(res) {
    res.writeHead(200, STREAM_TYPE).write(':\n\n');
    this.#keep(res, undefined);
  }

  /** A modern client's subscription: everything it wants is honoured. */
  listen(res, id, body) {
    const filter = /"notifications":(\{[^}]*\})/.exec(body)?.[1] ?? '{}';
    const params = `{"_meta":{"${SUBSCRIPTION_ID}":${id}},"notifications":${filter}}`;
    res.writeHead(200, STREAM_TYPE);
    res.write(`data: {"jsonrpc":"2.0","method":"${LISTEN_ACKNOWLEDGED}","params":${params}}\n\n`);
    this.#keep(res, id);
  }

  /**
   * Tells every stream of a change.
   * @param {{ method: string, params: string }} what `params`: the members, as text
   * @returns {string} nanoseconds of the monotonic clock, which all processes share, before the first was told
   */
  tell({ method, params }) {
    const at = process.hrtime.bigint();
    for (const [res, id] of this.#streams) {
      const meta = id === undefined ? [] : [`"_meta":{"${SUBSCRIPTION_ID}":${id}}`];
      const all = [...(params === '' ? [] : [params]), ...meta].join(',');
      res.write(`data: {"jsonrpc":"2.0","method":"${method}"${all === '' ? '' : `,"params":{${all}}`}}\n\n`);
    }
    return String(at);
  }

  #keep(res, id) {
    this.#streams.set(res, id);
    res.on('close', () => this.#streams.delete(res));
  }
}

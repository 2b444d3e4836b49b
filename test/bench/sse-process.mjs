/** The floor for streams: a bare node:http server that holds them, and writes one text to all or many texts to one. */
import { createServer } from 'node:http';
import { obey } from './child.mjs';

const STREAM_TYPE = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};
const streams = new Set();

obey({
  start: () =>
    new Promise((resolve) => {
      const server = createServer({ noDelay: true }, (req, res) => {
        req.resume();
        res.writeHead(200, STREAM_TYPE).write(':\n\n');
        streams.add(res);
        res.on('close', () => streams.delete(res));
      });
      server.listen(0, '127.0.0.1', () => resolve(server.address().port));
    }),
  streams: () => streams.size,
  /** Writes a text to every stream; the time is that of the monotonic clock, which all processes share. */
  tell: (text) => {
    const at = process.hrtime.bigint();
    for (const res of streams) res.write(text);
    return String(at);
  },
});

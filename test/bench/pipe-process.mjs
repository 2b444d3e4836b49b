/**
 * The floor: koa and `undici.request` carrying bytes, and nothing else. Two ways, because which one is cheaper depends
 * on the size: bodies as streams, and bodies collected first.
 */
import Koa from 'koa';
import { Agent, request } from 'undici';
import { obey } from './child.mjs';

const dispatcher = new Agent({ connections: null, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });

async function bytesOf(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
}

obey({
  start: (upstreams) =>
    new Promise((resolve) => {
      const app = new Koa();
      app.use(async (ctx) => {
        const [, way, era] = ctx.path.split('/');
        const headers = { ...ctx.req.headers };
        for (const own of ['host', 'connection', 'content-length']) delete headers[own];
        const {
          statusCode,
          headers: answered,
          body,
        } = await request(upstreams[era], {
          method: 'POST',
          headers,
          body: way === 'collect' ? await bytesOf(ctx.req) : ctx.req,
          dispatcher,
        });
        ctx.status = statusCode;
        ctx.set('Content-Type', answered['content-type'] ?? 'application/octet-stream');
        ctx.body = way === 'collect' ? await bytesOf(body) : body;
      });
      const server = app.listen(0, '127.0.0.1', () => resolve(server.address().port));
    }),
});

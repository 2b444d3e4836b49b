/** A cheap upstream of one era: finds the id by a pattern and answers with text made beforehand. */
import { createServer } from 'node:http';
import { setImmediate } from 'node:timers';
import { ChangeStreams } from './change-streams.mjs';
import { obey } from './child.mjs';

const JSON_TYPE = { 'content-type': 'application/json' };
const STREAM_TYPE = { 'content-type': 'text/event-stream' };
const CAPABILITIES = { tools: { listChanged: true }, resources: { subscribe: true } };
/** Events written to the socket at a time. */
const EVENTS_PER_WRITE = 10;

const QUESTION_FORM = '{"mode":"form","message":"Name?","requestedSchema":{"type":"object","properties":{}}}';
const text = (size) => `{"content":[{"type":"text","text":"${'x'.repeat(size)}"}]}`;
const complete = (result) => result.replace('{', '{"resultType":"complete",');

const tools = ['small', 'large', 'events', 'ask'].map((name) => ({ name, inputSchema: { type: 'object' } }));

function results(era) {
  const own = era === 'modern' ? complete : (result) => result;
  return { small: own(text(1024)), large: own(text(65_536)), events: own(text(1)), ask: own(text(1)) };
}

const changes = new ChangeStreams();
/** Calls whose events have all been written. */
let finished = 0;

obey({
  change: (what) => changes.tell(what),
  streams: () => changes.size,
  finished: () => finished,
  start: (era) =>
    new Promise((resolve) => {
      const byTool = results(era);
      const asked = new Map();
      let sessions = 0;
      let questions = 0;
      const server = createServer((req, res) => {
        const chunks = [];
        req.on('data', (chunk) => chunks.push(chunk));
        req.on('end', () => {
          const body = chunks.length === 1 ? chunks[0].latin1Slice() : Buffer.concat(chunks).latin1Slice();
          answer(req, res, body);
        });
      });
      const respond = (res, id, result, headers = JSON_TYPE, status = 200) =>
        res.writeHead(status, headers).end(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);

      function answer(req, res, body) {
        if (req.method === 'GET') return void changes.open(res);
        if (req.method !== 'POST') return void res.writeHead(200).end();
        const method = /"method":"([^"]*)"/.exec(body)?.[1];
        const id = /"id":("[^"]*"|\d+)/.exec(body)?.[1];
        if (method === undefined) {
          res.writeHead(202).end();
          asked.get(id)?.();
          asked.delete(id);
        } else if (id === undefined) res.writeHead(202).end();
        else if (method === 'subscriptions/listen') changes.listen(res, id, body);
        else if (method === 'resources/subscribe') respond(res, id, '{}');
        else if (method === 'tools/call') call(res, id, body);
        else if (method === 'tools/list') {
          const list = JSON.stringify({
            tools,
            ...(era === 'modern' && { ttlMs: 0, cacheScope: 'private' }),
          });
          respond(res, id, era === 'modern' ? complete(list) : list);
        } else if (method === 'initialize' && era === 'legacy') {
          sessions++;
          const result = {
            protocolVersion: '2025-11-25',
            capabilities: CAPABILITIES,
            serverInfo: { name: 'bench', version: '1' },
          };
          respond(res, id, JSON.stringify(result), { ...JSON_TYPE, 'mcp-session-id': `s${sessions}` });
        } else if (method === 'server/discover' && era === 'modern') {
          const result = {
            supportedVersions: ['2026-07-28'],
            capabilities: CAPABILITIES,
            ttlMs: 60_000,
            cacheScope: 'public',
          };
          respond(res, id, complete(JSON.stringify(result)));
        } else {
          const error = '{"code":-32000,"message":"Bad Request: no valid session ID"}';
          res.writeHead(400, JSON_TYPE).end(`{"jsonrpc":"2.0","id":null,"error":${error}}`);
        }
      }

      function call(res, id, body) {
        const tool = /"name":"(small|large|events|ask)"/.exec(body)?.[1] ?? 'small';
        if (tool === 'events') events(res, id, body);
        else if (tool === 'ask' && era === 'legacy') ask(res, id);
        else if (tool === 'ask' && !body.includes('"inputResponses"')) {
          const questions = `{"q":{"method":"elicitation/create","params":${QUESTION_FORM}}}`;
          respond(res, id, `{"resultType":"input_required","inputRequests":${questions},"requestState":"s"}`);
        } else respond(res, id, byTool[tool]);
      }

      function ask(res, id) {
        questions++;
        const own = `"q${questions}"`;
        asked.set(own, () => res.end(`data: {"jsonrpc":"2.0","id":${id},"result":${byTool.ask}}\n\n`));
        res.writeHead(200, STREAM_TYPE);
        res.write(
          `data: {"jsonrpc":"2.0","id":${own},"method":"elicitation/create","params":${QUESTION_FORM}}\n\n`,
        );
      }

      function events(res, id, body) {
        const count = Number(/"count":(\d+)/.exec(body)?.[1] ?? 100);
        const waitMs = Number(/"waitMs":(\d+)/.exec(body)?.[1] ?? 0);
        const token = /"progressToken":("[^"]*"|\d+)/.exec(body)?.[1];
        res.writeHead(200, STREAM_TYPE);
        let sent = 0;
        const block = (most) => {
          let text = '';
          for (let i = 0; i < most && sent < count; i++) {
            sent++;
            text += `event: message\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":${sent},"message":"step"}}\n\n`;
          }
          return text;
        };
        const more = () => {
          while (sent < count) {
            const room = res.write(block(EVENTS_PER_WRITE));
            if (sent < count) return room ? void setImmediate(more) : void res.once('drain', more);
          }
          res.end(`event: message\ndata: {"jsonrpc":"2.0","id":${id},"result":${byTool.events}}\n\n`);
          finished++;
        };
        if (waitMs === 0) return more();
        // The first event begins the client's stream; then there is time for it to go away.
        res.write(block(1));
        setTimeout(more, waitMs);
      }

      server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${server.address().port}/mcp`));
    }),
});

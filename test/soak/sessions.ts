/**
 * Opens and abandons sessions, and sends requests that are refused, and shows that neither leaves anything behind.
 *
 *     node --expose-gc --import tsx test/soak/sessions.ts [--count 5000]
 *
 * Prints a line per round and ends with status 1 when memory grew, or timers, sockets or sessions were left over.
 */
import { Agent, request as httpRequest } from 'node:http';
import { parseArgs } from 'node:util';
import { startGateway } from '../peers/gateway.js';
import {
  answer,
  answerResult,
  legacyScript,
  modernScript,
  startScriptedServer,
} from '../peers/scripted-server.js';
import { POST_HEADERS, initializeText, modernHeaders, modernText } from '../peers/wire-client.js';

const { values } = parseArgs({ options: { count: { type: 'string', default: '5000' } } });
const count = Number(values.count);
const ROUNDS = 5;
const PARALLEL = 32;
/** What a round may leave behind and still count as nothing: caches that fill up, code that is compiled. */
const SLACK_BYTES_PER_ROUND = 1.5 * 1024 * 1024;

const collect = (globalThis as { gc?: () => void }).gc;
if (collect === undefined) throw new Error('run with --expose-gc');

const agent = new Agent({ keepAlive: true, maxSockets: PARALLEL });

function send(
  url: string,
  method: string,
  headers: Record<string, string>,
  body?: string,
  abandon = false,
): Promise<{ status: number; session: string | undefined }> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(url, { method, headers, agent }, (response) => {
      const session = response.headers['mcp-session-id'];
      const done = (): void =>
        resolve({
          status: response.statusCode ?? 0,
          session: typeof session === 'string' ? session : undefined,
        });
      if (abandon) {
        response.destroy();
        done();
        return;
      }
      response.resume();
      response.once('end', done);
    });
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}

/** A client that opens a session, calls, opens a stream, and vanishes. */
async function abandonSession(url: string, number: number): Promise<void> {
  const { session } = await send(
    url,
    'POST',
    POST_HEADERS,
    initializeText({ clientInfo: { name: `c${number}`, version: '1' } }),
  );
  if (session === undefined) throw new Error('no session was opened');
  const own = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' };
  const call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}';
  await send(url, 'POST', { ...POST_HEADERS, ...own }, call);
  if (number % 3 === 0) {
    const subscribe = '{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"test://a"}}';
    await send(url, 'POST', { ...POST_HEADERS, ...own }, subscribe);
  }
  await send(url, 'GET', { accept: 'text/event-stream', ...own }, undefined, true);
}

const long = 'x'.repeat(64);

/** One of the requests that are refused, each for another reason. */
async function refused(url: string, number: number): Promise<void> {
  const unknown = { 'mcp-session-id': `${long}${number}`, 'mcp-protocol-version': '2025-11-25' };
  const body = modernText(number, 'tools/call', { name: `t${number}` });
  const kinds: (() => Promise<{ status: number }>)[] = [
    () =>
      send(url, 'POST', { ...POST_HEADERS, ...unknown }, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'),
    () => send(url, 'GET', { accept: 'text/event-stream', ...unknown }),
    () => send(url, 'DELETE', { ...unknown, authorization: `Bearer ${number}` }),
    () => send(url, 'POST', POST_HEADERS, `{"jsonrpc":"2.0","id":${number},`),
    () => send(url, 'POST', { ...modernHeaders(body), 'mcp-name': `other${number}` }, body),
    () => send(url, 'POST', { ...POST_HEADERS, origin: `http://evil${number}.example` }, body),
    () =>
      send(
        url,
        'POST',
        { ...POST_HEADERS, 'mcp-protocol-version': `v${number}` },
        '{"jsonrpc":"2.0","id":1,"method":"ping"}',
      ),
  ];
  const answered = await kinds[number % kinds.length]?.();
  if (answered === undefined || answered.status < 400)
    throw new Error(`a bad request was answered ${String(answered?.status)}`);
}

async function inParallel(total: number, run: (number: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < total) await run(next++);
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
}

/** Everything that keeps a process alive, by kind; what belongs to this script's own client is not counted. */
function resources(): Record<string, number> {
  const counted: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) counted[kind] = (counted[kind] ?? 0) + 1;
  return counted;
}

const settle = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function heap(): Promise<number> {
  // Sockets close, sweepers sweep, and what a finalizer holds goes with the second collection.
  await settle(1500);
  collect?.();
  await settle(50);
  collect?.();
  return process.memoryUsage().heapUsed;
}

const mib = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;

async function soak(era: 'legacy' | 'modern'): Promise<boolean> {
  const capabilities = { tools: { listChanged: true }, resources: { subscribe: true } };
  let opened = 0;
  let deleted = 0;
  const legacy = legacyScript((request, res) => answerResult(res, request, { content: [] }), {
    capabilities,
  });
  const modern = modernScript(
    (request, res) =>
      request.method === 'subscriptions/listen'
        ? answer(res, 404, {
            jsonrpc: '2.0',
            id: request.message.id,
            error: { code: -32601, message: 'none' },
          })
        : answerResult(res, request, { resultType: 'complete', content: [] }),
    { capabilities, tools: [] },
  );
  const upstream = await startScriptedServer((request, res) => {
    // The double itself must not be what grows.
    upstream.log.requests.length = 0;
    if (request.method === 'initialize') opened++;
    if (request.httpMethod === 'DELETE') deleted++;
    return era === 'legacy' ? legacy(request, res) : modern(request, res);
  });
  const gateway = await startGateway(upstream.url, {
    sessions: { idleMs: 300, max: 100_000, maxPerPrincipal: 100_000 },
    limits: { concurrentRequests: 10_000, concurrentPerPrincipal: 10_000 },
  });
  // Warm: code compiled, pools filled.
  await inParallel(Math.min(500, count), (number) => abandonSession(gateway.url, number));
  await inParallel(Math.min(500, count), (number) => refused(gateway.url, number));
  const begin = await heap();
  const handles = resources();
  const heaps = [begin];
  for (let round = 0; round < ROUNDS; round++) {
    await inParallel(Math.ceil(count / ROUNDS), (number) => abandonSession(gateway.url, number));
    await inParallel(Math.ceil(count / ROUNDS), (number) => refused(gateway.url, number));
    heaps.push(await heap());
    console.log(
      `${era} upstream, ${(round + 1) * Math.ceil(count / ROUNDS)} sessions and as many refused requests: heap ${mib(heaps.at(-1) ?? 0)}, resources ${JSON.stringify(resources())}`,
    );
  }
  const last = heaps.at(-1) ?? 0;
  const growth = (last - (heaps[1] ?? 0)) / (ROUNDS - 1);
  const after = resources();
  const timers = (after['Timeout'] ?? 0) - (handles['Timeout'] ?? 0);
  const upstreamLeft = opened - deleted;
  agent.destroy();
  await gateway.close();
  await upstream.close();
  const problems = [
    ...(growth > SLACK_BYTES_PER_ROUND ? [`the heap grows by ${mib(growth)} a round`] : []),
    ...(timers > 5 ? [`${timers} timers were left`] : []),
    ...(era === 'legacy' && upstreamLeft > 5 ? [`${upstreamLeft} upstream sessions were left`] : []),
  ];
  console.log(
    `${era} upstream: heap ${mib(begin)} at the start, ${mib(last)} at the end: ${problems.length === 0 ? 'flat' : problems.join(', ')}`,
  );
  return problems.length === 0;
}

let flat = true;
for (const era of ['legacy', 'modern'] as const) flat = (await soak(era)) && flat;
await settle(500);
console.log(`left at the end: ${JSON.stringify(resources())}`);
process.exitCode = flat ? 0 : 1;

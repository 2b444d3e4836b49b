/** Random valid and broken messages: always an answer, never a crash, and everything still works afterwards. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GATEWAY_CODE } from '../../src/errors/gateway-error.js';
import { CELLS, ERAS, startScript } from '../peers/cells.js';
import { type RunningGateway, startGateway } from '../peers/gateway.js';
import {
  type Script,
  type ScriptedServer,
  answerResult,
  answerRpcError,
  openStream,
  progressFor,
  resultText,
  scriptedTool,
} from '../peers/scripted-server.js';
import { type Era, openWireClient, openWireSession } from '../peers/wire-client.js';
import { Random } from './random.js';
import { type RandomRequest, RequestMaker } from './random-request.js';
import { type WireEnd, WireConnection } from './wire-connection.js';

const MESSAGES = Number(process.env['FUZZ_MESSAGES'] ?? 10_000);
const SEED = Number(process.env['FUZZ_SEED'] ?? 20_260_728);
const CONNECTIONS = 12;
const PATIENCE_MS = 5000;
/** Heap that may be left over from the second half, in bytes: caches fill, a leak of 1 KB a message is 5 MB. */
const HEAP_SLACK = 4 << 20;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Codes a 5xx may carry. */
const GATEWAY_CODES: ReadonlySet<unknown> = new Set(Object.values(GATEWAY_CODE));

const crashes: unknown[] = [];
const onCrash = (error: unknown): void => void crashes.push(error);

const gateways = new Map<Era, RunningGateway>();
const upstreams = new Map<Era, ScriptedServer>();

beforeAll(async () => {
  process.on('unhandledRejection', onCrash).on('uncaughtException', onCrash);
  for (const era of ERAS) {
    const upstream = await startScript(era, era === 'legacy' ? legacyCalls : modernCalls, {
      tools: [scriptedTool('echo'), scriptedTool('stream'), scriptedTool('ask'), scriptedTool('fail')],
    });
    upstreams.set(era, upstream);
    const timeouts = { streamCommitMs: 500, bodyMs: 1000, questionMs: 200, parkMs: 300, callMs: 3000 };
    gateways.set(era, await startGateway(upstream.url, { timeouts }, { era }));
  }
});

afterAll(async () => {
  process.off('unhandledRejection', onCrash).off('uncaughtException', onCrash);
  for (const gateway of gateways.values()) await gateway.close();
  for (const upstream of upstreams.values()) await upstream.close();
});

describe.each(ERAS)('random messages in front of a %s upstream', (era) => {
  it(`answers ${MESSAGES / 2} of them and stays as it was`, { timeout: 60_000 }, async () => {
    const seed = SEED + (era === 'legacy' ? 0 : 1);
    console.log(`fuzz: ${era} upstream, FUZZ_SEED=${seed} for this half, ${MESSAGES / 2} messages`);
    const gateway = gateways.get(era)!;
    const random = new Random(seed);
    const sessions = await openSessions(gateway.url);
    const maker = new RequestMaker(random, sessions);
    const problems: string[] = [];
    const statuses = new Map<number | string, number>();
    const half = async (messages: number): Promise<number> => {
      let left = messages;
      const worker = async (): Promise<void> => {
        const connection = new WireConnection(gateway.port);
        while (left > 0) {
          left--;
          const request = maker.make();
          const end = await connection.send(request.bytes, { ...request, patienceMs: PATIENCE_MS });
          const key = 'status' in end ? end.status : end.kind;
          statuses.set(key, (statuses.get(key) ?? 0) + 1);
          const problem = problemOf(request, end);
          if (problem !== undefined) problems.push(`${problem}\n${shown(request, end)}`);
          if (random.chance(0.01)) sessions.push(...(await openSessions(gateway.url, 1)).slice(0, 1));
          if (sessions.length > 20) sessions.shift();
        }
        connection.close();
      };
      await Promise.all(Array.from({ length: CONNECTIONS }, worker));
      // Questions, parked calls and detached streams end with their bounds.
      await new Promise((resolve) => setTimeout(resolve, 700));
      upstreams.get(era)!.log.requests.length = 0;
      collect();
      await new Promise((resolve) => setTimeout(resolve, 50));
      collect();
      return process.memoryUsage().heapUsed;
    };
    const before = await half(Math.ceil(MESSAGES / 4));
    const after = await half(Math.ceil(MESSAGES / 4));
    console.log(`fuzz: answers by status ${JSON.stringify(Object.fromEntries(statuses))}`);
    console.log(
      `fuzz: heap ${(before / 1e6).toFixed(1)} MB halfway, ${(after / 1e6).toFixed(1)} MB at the end`,
    );
    expect(problems.slice(0, 5), `${problems.length} problems`).toEqual([]);
    expect(crashes).toEqual([]);
    expect(after - before).toBeLessThan(HEAP_SLACK);
    // Otherwise the generator no longer reaches what it is meant to test.
    expect(statuses.get(200) ?? 0).toBeGreaterThan(MESSAGES / 20);
  });
});

describe.each(CELLS)('afterwards, $cell', ({ client, upstream }) => {
  it('serves a normal call', async () => {
    const wire = await openWireClient(client, gateways.get(upstream)!.url);
    const { status, message } = await wire.call(
      'tools/call',
      { name: 'echo', arguments: { a: 1 } },
      { id: 0 },
    );
    expect(status).toBe(200);
    expect(message.id).toBe(0);
    expect(message.result.content).toEqual([{ type: 'text', text: 'echo' }]);
    expect(crashes).toEqual([]);
  });
});

async function openSessions(url: string, count = 4): Promise<string[]> {
  const revisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
  const sessions: string[] = [];
  for (let i = 0; i < count; i++) {
    const capabilities = i % 2 === 0 ? { elicitation: {} } : {};
    sessions.push((await openWireSession(url, { revision: revisions[i]!, capabilities })).id);
  }
  return sessions;
}

/** What is wrong with an answer; undefined when nothing is. */
function problemOf(request: RandomRequest, end: WireEnd): string | undefined {
  if (end.kind === 'aborted') return undefined;
  if (end.kind === 'silence') return `no answer within ${PATIENCE_MS} ms`;
  if (end.kind === 'closed') return request.brokenHttp ? undefined : 'closed without an answer';
  const { status, head, body } = end;
  const stream = /\r\ncontent-type: text\/event-stream/i.test(head);
  const texts = stream
    ? [...body.matchAll(/^data: (.+)$/gm)].map((match) => match[1]!)
    : body === ''
      ? []
      : [body];
  for (const text of texts) {
    let parsed: any;
    try {
      parsed = JSON.parse(text);
    } catch {
      return 'the answer is no JSON';
    }
    for (const message of Array.isArray(parsed) ? parsed : [parsed]) {
      if (message.error?.code === -32603) return 'an internal error';
      if (status >= 500 && !GATEWAY_CODES.has(message.error?.code)) return 'an undocumented 5xx';
      if (!('method' in message) && message.jsonrpc !== '2.0') return 'the answer is no JSON-RPC';
    }
  }
  if (status >= 500 && texts.length === 0) return 'a 5xx without a reason';
  if (request.id !== undefined && texts.length === 1 && !stream) {
    const raw = /"id":("(?:[^"\\]|\\.)*"|[^,}]*)/.exec(texts[0]!)?.[1];
    if (raw !== undefined && raw !== 'null' && raw !== request.id)
      return `answered to the id ${raw}, not ${request.id}`;
  }
  return undefined;
}

function shown(request: RandomRequest, end: WireEnd): string {
  return `> ${request.bytes.toString('latin1').slice(0, 1500)}\n< ${JSON.stringify(end).slice(0, 800)}`;
}

/** What a legacy server does with whatever comes through: results, streams, questions and errors. */
const legacyCalls: Script = (request, res) => {
  const name = request.message?.params?.name;
  if (request.method === 'tools/list') answerResult(res, request, { tools: [scriptedTool('echo')] });
  else if (name === 'stream') streamed(request, res, undefined);
  else if (name === 'ask') {
    const params = { message: 'm', requestedSchema: { type: 'object', properties: {} } };
    streamed(request, res, { jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params });
  } else if (name === 'fail') answerRpcError(res, request, 200, -32602, 'failed');
  else answerResult(res, request, { content: [{ type: 'text', text: 'echo' }] });
};

const modernCalls: Script = (request, res) => {
  const params = request.message?.params;
  const name = params?.name;
  if (request.method === 'subscriptions/listen') {
    const stream = openStream(res);
    const _meta = { 'io.modelcontextprotocol/subscriptionId': request.message.id };
    stream.send({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: params?.notifications ?? {}, _meta },
    });
  } else if (name === 'stream') streamed(request, res, undefined);
  else if (name === 'ask' && params.inputResponses === undefined) {
    const question = { mode: 'form', message: 'm', requestedSchema: { type: 'object', properties: {} } };
    answerResult(res, request, {
      resultType: 'input_required',
      inputRequests: { q: { method: 'elicitation/create', params: question } },
      requestState: 's',
    });
  } else if (name === 'fail') answerRpcError(res, request, 200, -32602, 'failed');
  else answerResult(res, request, { resultType: 'complete', content: [{ type: 'text', text: 'echo' }] });
};

const streamed = (
  request: Parameters<Script>[0],
  res: Parameters<Script>[1],
  question: object | undefined,
): void => {
  const stream = openStream(res);
  stream.send(progressFor(request, 1));
  if (question !== undefined) stream.send(question);
  const result = { resultType: 'complete', content: [] };
  const end = (): void => {
    stream.send(resultText(request, result));
    stream.end();
  };
  if (question === undefined) end();
  else setTimeout(end, 30);
};

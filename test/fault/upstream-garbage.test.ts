/** Upstreams that answer nonsense: every client gets a bounded answer with its own id, and the gateway lives on. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CELLS, startScript } from '../peers/cells.js';
import { type RunningGateway, startGateway } from '../peers/gateway.js';
import {
  type Script,
  type ScriptedServer,
  answer,
  answerResult,
  openStream,
  resultText,
  scriptedTool,
} from '../peers/scripted-server.js';
import { openWireClient } from '../peers/wire-client.js';
import { GARBAGE, type Garbage } from './garbage.js';
import { Random } from './random.js';

const SEED = Number(process.env['FUZZ_SEED'] ?? 11_252_025);
const MUTATIONS = 250;
const ID = 'the client\u2019s "own"';
/** Longest answer to anything, in milliseconds; the gateway's own bound on a silent call is shorter. */
const BOUND_MS = 5000;
const CALL_MS = 1200;

const crashes: unknown[] = [];
const onCrash = (error: unknown): void => void crashes.push(error);

beforeAll(() => void process.on('unhandledRejection', onCrash).on('uncaughtException', onCrash));
afterAll(() => void process.off('unhandledRejection', onCrash).off('uncaughtException', onCrash));

const fine: Script = (request, res) => answerResult(res, request, { resultType: 'complete', content: [] });

describe.each(CELLS)('garbage from the upstream, $cell', ({ client: era, upstream: upstreamEra }) => {
  let upstream: ScriptedServer;
  let gateway: RunningGateway;
  const scripts = new Map<string, Script>();

  beforeAll(async () => {
    upstream = await startScript(
      upstreamEra,
      (request, res) => {
        const script = scripts.get(String(request.message?.params?.name));
        return (script ?? fine)(request, res);
      },
      { tools: [scriptedTool('any')] },
    );
    gateway = await startGateway(
      upstream.url,
      {
        timeouts: { callMs: CALL_MS, callMaxMs: 2000, streamCommitMs: 300 },
        limits: { upstreamMessageBytes: 1 << 20 },
        polling: { retryMs: 10 },
      },
      { era: upstreamEra },
    );
    const client = await openWireClient(era, gateway.url, { capabilities: {} });
    await client.call('tools/list');
  });

  afterAll(async () => {
    await gateway.close();
    await upstream.close();
  });

  const callWith = async (name: string, script: Script): Promise<any> => {
    scripts.set(name, script);
    // A garbage status may end a legacy session, as it should.
    const client = await openWireClient(era, gateway.url, { capabilities: {} });
    const before = performance.now();
    const response = await client.request(ID, 'tools/call', { name });
    const message = await response.rpc();
    expect(performance.now() - before).toBeLessThan(BOUND_MS);
    expect(message.jsonrpc).toBe('2.0');
    expect(message.id).toBe(ID);
    if (response.isStream) {
      await response.ended;
      const responses = response.messages.filter((other) => !('method' in other));
      expect(responses).toHaveLength(1);
    }
    return message;
  };

  const answered = async ({ name, script, expected }: Garbage): Promise<void> => {
    const message = await callWith(name, script);
    expect(message.error?.code, JSON.stringify(message).slice(0, 500)).not.toBe(-32700);
    if (expected !== 'either')
      expect('result' in message ? 'result' : 'error', JSON.stringify(message).slice(0, 500)).toBe(expected);
    if (expected === 'error') expect(message.error.message).not.toBe('internal error');
    expect(({} as any).isError).toBeUndefined();
  };

  it.concurrent.each(GARBAGE)('$name', async (garbage) => answered(garbage));

  it(`answers ${MUTATIONS} damaged responses`, async () => {
    const random = new Random(SEED);
    console.log(`upstream garbage: FUZZ_SEED=${SEED}`);
    for (let batch = 0; batch < MUTATIONS / 25; batch++) {
      await Promise.all(
        Array.from({ length: 25 }, (_, i) => callWith(`damaged ${batch}-${i}`, damaged(random))),
      );
    }
  });

  it('serves a normal call afterwards, and nothing crashed', async () => {
    const message = await callWith('any', fine);
    expect(message.result.content).toEqual([]);
    expect(crashes).toEqual([]);
  });
});

/** A proper response with some bytes changed, in one of the forms a response has. */
function damaged(random: Random): Script {
  const asStream = random.chance(0.5);
  const places = [random.next(), random.next()];
  const kind = random.below(4);
  const bytes = random.bytes(1 + random.below(6));
  return (request, res) => {
    const text = resultText(request, {
      resultType: 'complete',
      content: [{ type: 'text', text: 'x' }],
      _meta: { a: 1 },
    });
    const whole = Buffer.from(
      asStream ? `id: 1\ndata: {"jsonrpc":"2.0","method":"a/b"}\n\ndata: ${text}\n\n` : text,
    );
    const at = Math.floor((places[0] ?? 0) * whole.length);
    const to = Math.floor((places[1] ?? 0) * whole.length);
    const spoilt =
      kind === 0
        ? whole.subarray(0, at)
        : kind === 1
          ? Buffer.concat([whole.subarray(0, at), bytes, whole.subarray(at)])
          : kind === 2
            ? Buffer.concat([whole.subarray(0, at), bytes, whole.subarray(at + bytes.length)])
            : Buffer.concat([whole.subarray(0, Math.max(at, to)), whole.subarray(Math.min(at, to))]);
    if (!asStream) {
      answer(res, 200, spoilt);
      return;
    }
    const sse = openStream(res);
    sse.raw(spoilt);
    sse.end();
  };
}

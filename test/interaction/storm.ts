import { pathToFileURL } from 'node:url';
import { type RunningGateway, startGateway } from '../peers/gateway.js';
import { type RawResponse, isResponse } from '../peers/raw-client.js';
import { type WireSession, openWireSession } from '../peers/wire-client.js';
import { ALL_CAPABILITIES, answers, postLeg } from './legs.js';
import { responseTo } from './rounds.js';
import {
  type StormUpstream,
  answerFor,
  resultFor,
  startLegacyStormUpstream,
  startModernStormUpstream,
} from './storm-upstreams.js';

/** How one call ended, as its client saw it. */
type End = 'result' | 'cancelled' | 'abandoned' | `wrong: ${string}`;

export interface StormReport {
  readonly direction: string;
  readonly calls: number;
  readonly ends: Readonly<Record<string, number>>;
  /** Everything that should not have happened; empty when all is well. */
  readonly faults: readonly string[];
  readonly ms: number;
}

export interface StormOptions {
  readonly calls: number;
  /** Repeats a storm exactly as far as the network lets it. */
  readonly seed: number;
}

/**
 * How long a modern client may be away, in milliseconds: short, so that what is abandoned can be seen to end, but longer
 * than this many clients need to come back when one process plays all of them.
 */
function parkMsFor(calls: number): number {
  return 1500 + 50 * calls;
}

function configFor(calls: number): Record<string, unknown> {
  return {
    limits: { parkedPerPrincipal: 10_000, detachedPerPrincipal: 10_000, concurrentRequests: 10_000 },
    sessions: { maxPerPrincipal: 1000 },
    timeouts: { parkMs: parkMsFor(calls) },
  };
}

/** Random numbers in [0, 1) that can be had again (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const principal = (index: number) => ({ authorization: `Bearer principal-${index % 10}` });

/** Legacy clients, modern upstream: they drop their connections, come back, answer meanwhile, and cancel. */
async function legacyCall(session: WireSession, label: string, random: () => number): Promise<End> {
  const cancels = random() < 0.15 ? Math.floor(random() * 3) : -1;
  let response: RawResponse = await session.request(label, 'tools/call', {
    name: 'ask',
    arguments: { label },
  });
  let cursor: string | undefined;
  for (let round = 0; ;) {
    let block;
    try {
      block = await response.next(({ data }) => data !== undefined);
    } catch {
      return cancels === round ? 'cancelled' : `wrong: ${label} ended in round ${round} without a response`;
    }
    cursor = block.id ?? cursor;
    if (block.data === '') {
      if (random() < 0.3 && cursor !== undefined) response = await reconnect(session, response, cursor);
      continue;
    }
    const message = JSON.parse(block.data ?? '');
    if (message.method === 'notifications/cancelled' && cancels >= 0) continue;
    if (isResponse(message)) {
      const text = message.result?.content[0].text;
      await response.ended;
      if (message.id !== label || text !== resultFor(label))
        return `wrong: ${label} got ${JSON.stringify(message)}`;
      return 'result';
    }
    if (message.params.message !== `${label}/${round}`)
      return `wrong: ${label} was asked ${block.data ?? ''}`;
    if (cancels === round) {
      await (await session.notify('notifications/cancelled', { requestId: label })).text();
      continue;
    }
    const drop = random();
    if (drop < 0.2 && cursor !== undefined) response = await reconnect(session, response, cursor);
    const answered = session.post(responseTo(message.id, answerFor(label, round)));
    round++;
    // Dropped at the very time the answer arrives, or while the retry runs.
    if (drop > 0.8 && cursor !== undefined) response = await reconnect(session, response, cursor);
    await (await answered).text();
  }
}

async function reconnect(session: WireSession, response: RawResponse, cursor: string): Promise<RawResponse> {
  response.close();
  const resumed = await session.get(cursor);
  if (resumed.status !== 200) throw new Error(`resuming was answered ${resumed.status}`);
  return resumed;
}

/** Modern clients, legacy upstream: they close responses, stay away for good, and come back twice at once. */
async function modernCall(url: string, index: number, label: string, random: () => number): Promise<End> {
  const request = { arguments: { label }, headers: principal(index) };
  const closes = random() < 0.1 ? Math.floor(random() * 3) : -1;
  const stays = random() < 0.1 ? Math.floor(random() * 3) : -1;
  let retry: object = {};
  for (let round = 0; ; round++) {
    const response = await postLeg(url, { ...request, ...retry, token: label });
    const message = await response.rpc();
    if (message.result?.resultType === 'complete') {
      const { text } = message.result.content[0];
      return text === resultFor(label) ? 'result' : `wrong: ${label} got ${text}`;
    }
    if (message.result?.resultType !== 'input_required')
      return `wrong: ${label} got ${JSON.stringify(message)}`;
    const [[key, question]] = Object.entries<any>(message.result.inputRequests) as [[string, any]];
    if (question.params.message !== `${label}/${round}`) {
      return `wrong: ${label} was asked ${JSON.stringify(question)}`;
    }
    if (stays === round) return 'abandoned';
    const given = {
      requestState: message.result.requestState,
      inputResponses: answers([key], answerFor(label, round)),
    };
    if (closes === round) {
      // Nothing is answered, so the call waits on this response when it is closed.
      const waiting = postLeg(url, { ...request, ...given, inputResponses: {}, token: label });
      (await waiting).close();
      return 'cancelled';
    }
    if (random() < 0.2) {
      const twice = await Promise.all([1, 2].map(() => postLeg(url, { ...request, ...given, token: label })));
      const [loser] = twice.filter(({ status }) => status === 400);
      const [winner] = twice.filter(({ status }) => status === 200);
      if (loser === undefined || winner === undefined) return `wrong: ${label} was taken twice`;
      const next = await winner.rpc();
      if (next.result?.resultType === 'complete') {
        return next.result.content[0].text === resultFor(label) ? 'result' : `wrong: ${label}`;
      }
      round++;
      const [[nextKey]] = Object.entries(next.result.inputRequests) as [[string, unknown]];
      if (stays === round || closes === round) return 'abandoned';
      retry = {
        requestState: next.result.requestState,
        inputResponses: answers([nextKey], answerFor(label, round)),
      };
      continue;
    }
    retry = given;
  }
}

/** Waits until nothing is under way but so many standalone streams. */
async function settle(
  gateway: RunningGateway,
  calls: number,
  faults: string[],
  streams: number,
): Promise<void> {
  const deadline = Date.now() + parkMsFor(calls) + 5000;
  const calm = () => {
    const { parked, questions, upstreamRequests } = gateway.activity();
    return parked === 0 && questions === 0 && upstreamRequests <= streams;
  };
  while (!calm() && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 50));
  if (!calm()) faults.push(`left behind: ${JSON.stringify(gateway.activity())}`);
}

function check(
  upstream: StormUpstream,
  labels: readonly string[],
  ends: readonly End[],
  faults: string[],
): void {
  faults.push(...upstream.strays);
  labels.forEach((label, i) => {
    const end = ends[i] ?? '';
    if (end.startsWith('wrong')) faults.push(end);
    const [begun, finished] = [upstream.begun.get(label) ?? 0, upstream.finished.get(label) ?? 0];
    if (begun !== 1) faults.push(`${label} ran ${begun} times`);
    if (finished !== (end === 'result' ? 1 : 0))
      faults.push(`${label}: ${end}, finished ${finished} times upstream`);
  });
  for (const request of upstream.server.requestsFor('tools/call')) {
    if (request.ended === undefined) faults.push(`an upstream stream is open: ${request.body}`);
  }
}

function count(ends: readonly End[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const end of ends) {
    const kind = end.split(':', 1)[0] ?? end;
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

/** Legacy clients, modern upstream. */
export async function stormOfLegacyClients({ calls, seed }: StormOptions): Promise<StormReport> {
  const start = Date.now();
  const upstream = await startModernStormUpstream();
  const gateway = await startGateway(upstream.server.url, configFor(calls));
  const faults: string[] = [];
  try {
    const sessions = await Promise.all(
      Array.from({ length: Math.ceil(calls / 20) }, (_, i) =>
        openWireSession(gateway.url, { capabilities: ALL_CAPABILITIES, headers: principal(i) }),
      ),
    );
    const labels = Array.from({ length: calls }, (_, i) => `call-${i}`);
    const ends = await Promise.all(
      labels.map((label, i) =>
        legacyCall(sessions[i % sessions.length] as WireSession, label, randomFrom(seed + i)).catch(
          (error: unknown): End => `wrong: ${label}: ${String(error)}`,
        ),
      ),
    );
    await settle(gateway, calls, faults, 0);
    check(upstream, labels, ends, faults);
    for (const session of sessions) await (await session.delete()).text();
    if (gateway.activity().sessions > 0) faults.push('sessions are left');
    return {
      direction: 'legacy client, modern upstream',
      calls,
      ends: count(ends),
      faults,
      ms: Date.now() - start,
    };
  } finally {
    await gateway.close();
    await upstream.close();
  }
}

/** Modern clients, legacy upstream. */
export async function stormOfModernClients({ calls, seed }: StormOptions): Promise<StormReport> {
  const start = Date.now();
  const upstream = await startLegacyStormUpstream();
  const gateway = await startGateway(upstream.server.url, configFor(calls));
  const faults: string[] = [];
  try {
    const labels = Array.from({ length: calls }, (_, i) => `call-${i}`);
    const ends = await Promise.all(
      labels.map((label, i) =>
        modernCall(gateway.url, i, label, randomFrom(seed + i)).catch(
          (error: unknown): End => `wrong: ${label}: ${String(error)}`,
        ),
      ),
    );
    // What stays open are the standalone streams of the upstream sessions, one for each principal.
    await settle(gateway, calls, faults, 10);
    check(upstream, labels, ends, faults);
    labels.forEach((label, i) => {
      if (ends[i] !== 'result' && !upstream.cancelled.has(label))
        faults.push(`${label} was not cancelled upstream`);
    });
    return {
      direction: 'modern client, legacy upstream',
      calls,
      ends: count(ends),
      faults,
      ms: Date.now() - start,
    };
  } finally {
    await gateway.close();
    await upstream.close();
  }
}

async function main(): Promise<void> {
  const [calls = 500, seed = Date.now() % 1_000_000] = process.argv.slice(2).map(Number);
  process.stdout.write(`seed ${seed}\n`);
  for (const storm of [stormOfLegacyClients, stormOfModernClients]) {
    const { direction, ends, faults, ms } = await storm({ calls, seed });
    process.stdout.write(`${direction}: ${calls} calls, ${JSON.stringify(ends)}, ${ms} ms\n`);
    for (const fault of faults.slice(0, 20)) process.stdout.write(`  ${fault}\n`);
    if (faults.length > 0) process.exitCode = 1;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();

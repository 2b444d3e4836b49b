import {
  type ScriptedServer,
  type ScriptedStream,
  answer,
  answerResult,
  legacyScript,
  modernScript,
  openStream,
  resultText,
  startScriptedServer,
} from '../peers/scripted-server.js';
import type { SeenRequest } from '../peers/peer-log.js';
import { form, inputRequiredText } from './rounds.js';

export const ROUNDS = 3;

/** The answer that belongs to one question and to no other. */
export function answerFor(label: string, round: number): { action: string; content: { name: string } } {
  return { action: 'accept', content: { name: `${label}/${round}` } };
}

/** What a call returns when it got exactly its own answers. */
export function resultFor(label: string): string {
  return Array.from({ length: ROUNDS }, (_, round) => answerFor(label, round).content.name).join(' ');
}

/** What the upstream counted. */
export interface StormUpstream {
  readonly server: ScriptedServer;
  /** Calls by label: how often each began, and ended with a result. */
  readonly begun: ReadonlyMap<string, number>;
  readonly finished: ReadonlyMap<string, number>;
  /** Calls that were cancelled before their result. */
  readonly cancelled: ReadonlySet<string>;
  /** Answers that went to the wrong question. */
  readonly strays: readonly string[];
  close(): Promise<void>;
}

function counter(): { counts: Map<string, number>; add(label: string): void } {
  const counts = new Map<string, number>();
  return { counts, add: (label) => counts.set(label, (counts.get(label) ?? 0) + 1) };
}

const text = (value: string) => ({ resultType: 'complete', content: [{ type: 'text', text: value }] });

/** A stateless server: the state carries what was answered so far. */
export async function startModernStormUpstream(): Promise<StormUpstream> {
  const [begun, finished] = [counter(), counter()];
  const cancelled = new Set<string>();
  const strays: string[] = [];
  const server = await startScriptedServer(
    modernScript(
      (request, res) => {
        const { arguments: args, requestState, inputResponses } = request.message.params;
        const { label } = args;
        const names: string[] = requestState === undefined ? [] : JSON.parse(requestState);
        if (requestState === undefined) begun.add(label);
        else {
          const round = names.length;
          const name = inputResponses?.[`q${round}`]?.content?.name;
          if (name !== `${label}/${round}`)
            strays.push(`${label}/${round} got ${JSON.stringify(inputResponses)}`);
          names.push(name);
        }
        res.once('close', () => {
          if (!res.writableFinished) cancelled.add(label);
        });
        const stream = openStream(res);
        // Whoever closes or cancels meanwhile does it while this is under way.
        setImmediate(() => {
          if (names.length === ROUNDS) {
            finished.add(label);
            stream.send(resultText(request, text(names.join(' '))));
          } else {
            const question = { [`q${names.length}`]: form(`${label}/${names.length}`) };
            const state = JSON.stringify(JSON.stringify(names));
            stream.send(resultText(request, inputRequiredText(question, state)));
          }
          stream.end();
        });
      },
      { tools: [{ name: 'ask', inputSchema: { type: 'object' } }] },
    ),
  );
  return {
    server,
    begun: begun.counts,
    finished: finished.counts,
    cancelled,
    strays,
    close: () => server.close(),
  };
}

interface LegacyCall {
  readonly label: string;
  readonly request: SeenRequest;
  readonly stream: ScriptedStream;
  readonly names: string[];
}

/** A server with sessions: it asks on the stream of the call, and is told of a cancellation. */
export async function startLegacyStormUpstream(): Promise<StormUpstream> {
  const [begun, finished] = [counter(), counter()];
  const cancelled = new Set<string>();
  const strays: string[] = [];
  const calls = new Map<number | string, LegacyCall>();
  const ask = ({ stream, label, names }: LegacyCall): void => {
    const id = `${label}/${names.length}`;
    stream.send({ jsonrpc: '2.0', id, ...form(id) });
  };
  const take = ({ message }: SeenRequest): void => {
    if (message.method === 'notifications/cancelled') {
      const call = calls.get(message.params.requestId);
      calls.delete(message.params.requestId);
      if (call !== undefined) cancelled.add(call.label);
      return;
    }
    if (message.method !== undefined || message.result === undefined) return;
    const call = [...calls.values()].find(({ label, names }) => message.id === `${label}/${names.length}`);
    if (call === undefined) return;
    if (message.result.content?.name !== message.id) strays.push(JSON.stringify(message));
    call.names.push(message.result.content?.name);
    if (call.names.length < ROUNDS) {
      ask(call);
      return;
    }
    calls.delete(call.request.message.id);
    finished.add(call.label);
    call.stream.send(resultText(call.request, text(call.names.join(' '))));
    call.stream.end();
  };
  const server = await startScriptedServer(
    legacyScript(
      (request, res) => {
        if (request.method !== 'tools/call') {
          answerResult(res, request);
          return;
        }
        const { label } = request.message.params.arguments;
        begun.add(label);
        const call: LegacyCall = { label, request, stream: openStream(res), names: [] };
        calls.set(request.message.id, call);
        ask(call);
      },
      {
        notification: (request, res) => {
          answer(res, 202, '', {});
          take(request);
        },
        get: (_, res) => void openStream(res),
      },
    ),
  );
  return {
    server,
    begun: begun.counts,
    finished: finished.counts,
    cancelled,
    strays,
    close: () => server.close(),
  };
}

import { closing } from '../peers/closing.js';
import { type RunningGateway, startGateway } from '../peers/gateway.js';
import type { SeenRequest } from '../peers/peer-log.js';
import type { RawResponse } from '../peers/raw-client.js';
import {
  type Script,
  type ScriptedServer,
  type ScriptedStream,
  answerResult,
  legacyScript,
  modernScript,
  openStream,
  progressFor,
  resultText,
  scriptedTool,
  startScriptedServer,
} from '../peers/scripted-server.js';
import type { Era, WireSession } from '../peers/wire-client.js';

/** The upstream's side of one call. */
export interface RunningCall {
  readonly request: SeenRequest;
  readonly stream: ScriptedStream;
  progress(value: number): void;
  /** Ends the call with a text. */
  finish(text?: string): void;
}

/** A gateway in front of an upstream whose calls and standalone streams are driven from the test. */
export interface Driven {
  readonly gateway: RunningGateway;
  readonly upstream: ScriptedServer;
  /** The calls by the label in their arguments. */
  readonly calls: ReadonlyMap<string, RunningCall>;
  /** The standalone streams that were opened (legacy upstreams), oldest first. */
  readonly streams: readonly ScriptedStream[];
  /** Starts a call with progress; resolves when the upstream runs it. */
  call(session: WireSession, label: string): Promise<readonly [RawResponse, RunningCall]>;
}

export const ALL_CHANGES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
};

export interface DrivenOptions {
  /** Members of the gateway's configuration. */
  readonly config?: Record<string, unknown>;
  readonly capabilities?: object;
}

export async function startDriven(era: Era, options: DrivenOptions = {}): Promise<Driven> {
  const { capabilities = ALL_CHANGES } = options;
  const calls = new Map<string, RunningCall>();
  const streams: ScriptedStream[] = [];
  const script: Script = (request, res) => {
    if (request.method !== 'tools/call') {
      answerResult(res, request, era === 'modern' ? { resultType: 'complete' } : {});
      return;
    }
    calls.set(request.message.params.arguments.label, drive(request, openStream(res)));
  };
  const upstream = closing(
    await startScriptedServer(
      era === 'modern'
        ? modernScript(script, { capabilities, tools: [scriptedTool('t')] })
        : legacyScript(script, { capabilities, get: (_, res) => void streams.push(openStream(res)) }),
    ),
  );
  const gateway = closing(await startGateway(upstream.url, options.config));
  const call = async (session: WireSession, label: string): Promise<readonly [RawResponse, RunningCall]> => {
    const params = { name: 't', arguments: { label }, _meta: { progressToken: label } };
    const response = await session.request(label, 'tools/call', params);
    const running = calls.get(label);
    if (running === undefined) throw new Error(`the upstream never saw ${label}`);
    return [response, running];
  };
  return { gateway, upstream, calls, streams, call };
}

function drive(request: SeenRequest, stream: ScriptedStream): RunningCall {
  return {
    request,
    stream,
    progress: (value) => stream.send(progressFor(request, value)),
    finish: (text = request.message.params.arguments.label) => {
      stream.send(resultText(request, { resultType: 'complete', content: [{ type: 'text', text }] }));
      stream.end();
    },
  };
}

/** A parsed message in short: progress as `token:value`, a response as `id=text` or `id=code`, else its method. */
export function inShort({ method, params, id, result, error }: any): string {
  if (method === 'notifications/progress') return `${params.progressToken}:${params.progress}`;
  if (method === 'notifications/resources/updated') return `updated ${params.uri}`;
  if (method !== undefined) return method;
  return `${id}=${result?.content?.[0].text ?? error?.code ?? 'ok'}`;
}

/** What a stream has carried so far, in short. */
export function summary(response: RawResponse): string[] {
  return response.messages.map(inShort);
}

export const TOOLS_CHANGED = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };

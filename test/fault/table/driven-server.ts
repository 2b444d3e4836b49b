import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { SeenRequest } from '../../peers/peer-log.js';
import {
  type Script,
  type ScriptedServer,
  type ScriptedStream,
  answer,
  answerResult,
  legacyScript,
  modernScript,
  openStream,
  progressFor,
  resultText,
  scriptedTool,
  startScriptedServer,
} from '../../peers/scripted-server.js';
import type { Era } from '../../peers/wire-client.js';
import { until } from './scope.js';

/** The upstream's side of one call. */
export class DrivenCall {
  private readonly stream: ScriptedStream;
  private last = 0;

  constructor(
    readonly request: SeenRequest,
    private readonly res: ServerResponse,
  ) {
    this.stream = openStream(res);
  }

  /** Bytes nobody has taken yet. */
  get waiting(): number {
    return this.res.writableLength;
  }

  /** The next progress. @param bytes how much to say with it */
  progress(bytes = 0): void {
    this.last++;
    this.stream.send(progressFor(this.request, this.last, bytes === 0 ? {} : { message: 'm'.repeat(bytes) }));
  }

  finish(): void {
    const content = [{ type: 'text', text: 'done' }];
    this.stream.send(resultText(this.request, { resultType: 'complete', content }));
    this.stream.end();
  }
}

/** An upstream whose calls are told apart by their label; a legacy one knows its own sessions only. */
export class DrivenServer {
  private readonly calls = new Map<string, DrivenCall>();
  server!: ScriptedServer;

  private constructor(readonly era: Era) {}

  static async start(era: Era, port?: number): Promise<DrivenServer> {
    const driven = new DrivenServer(era);
    const calls: Script = (request, res) => {
      const { label } = request.message.params.arguments;
      const call = new DrivenCall(request, res);
      driven.calls.set(label, call);
      if (label.startsWith('probe')) call.finish();
    };
    const script =
      era === 'legacy' ? sessionScript(calls) : modernScript(calls, { tools: [scriptedTool('t')] });
    driven.server = await startScriptedServer(script, port === undefined ? {} : { port });
    return driven;
  }

  /** The call with this label, once it is there. */
  async call(label: string): Promise<DrivenCall> {
    await until(() => this.calls.has(label));
    const call = this.calls.get(label);
    if (call === undefined) throw new Error(`the upstream never saw the call ${label}`);
    return call;
  }

  /** Whether the gateway has told it, in the way of its era, that nobody waits. */
  isStopped({ request }: DrivenCall): boolean {
    return this.era === 'modern'
      ? request.ended === 'dropped'
      : this.server.log.cancelled.some(({ requestId }) => requestId === request.message.id);
  }

  /** Breaks all connections and takes no more. */
  async kill(): Promise<void> {
    this.server.dropConnections();
    await this.server.close();
  }

  close(): Promise<void> {
    return this.server.close();
  }
}

function sessionScript(calls: Script): Script {
  const known = new Set<string>();
  const script = legacyScript(calls, {
    initialize: (request, res) => {
      const id = randomUUID();
      known.add(id);
      const { protocolVersion } = request.message.params;
      const result = {
        protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'driven', version: '1' },
      };
      answerResult(res, request, result, { 'mcp-session-id': id });
    },
  });
  return (request, res) => {
    const session = request.headers['mcp-session-id'];
    if (typeof session !== 'string' || known.has(session)) return script(request, res);
    const error = { code: -32001, message: 'Session not found' };
    answer(res, 404, { jsonrpc: '2.0', id: request.message?.id ?? null, error });
  };
}

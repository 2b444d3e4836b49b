import type { SeenRequest } from '../peers/peer-log.js';
import {
  type LegacyScriptOptions,
  type ScriptedServer,
  type ScriptedStream,
  legacyScript,
  openStream,
  progressFor,
  resultText,
  startScriptedServer,
} from '../peers/scripted-server.js';

/** How long a test waits for something that should come at once, in milliseconds. */
const PATIENCE_MS = 8000;

/** The upstream's side of one call, driven from the test. */
export class DrivenCall {
  constructor(
    readonly request: SeenRequest,
    readonly stream: ScriptedStream,
  ) {}

  /** Asks on the stream of the call. */
  ask(id: string | number, question: object): void {
    this.stream.send({ jsonrpc: '2.0', id, ...question });
  }

  withdraw(requestId: string | number): void {
    this.stream.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
  }

  progress(value: number): void {
    this.stream.send(progressFor(this.request, value));
  }

  log(level: string, data: unknown): void {
    this.stream.send({ jsonrpc: '2.0', method: 'notifications/message', params: { level, data } });
  }

  finish(text = 'done'): void {
    this.stream.send(resultText(this.request, { content: [{ type: 'text', text }] }));
    this.stream.end();
  }
}

/** A legacy server whose calls, questions and standalone stream are driven from the test. */
export class DrivenServer {
  readonly calls: DrivenCall[] = [];
  /** The standalone streams, oldest first. */
  readonly streams: ScriptedStream[] = [];
  server!: ScriptedServer;

  static async start(options: LegacyScriptOptions & { stream?: boolean } = {}): Promise<DrivenServer> {
    const driven = new DrivenServer();
    const { stream = true, ...script } = options;
    driven.server = await startScriptedServer(
      legacyScript((request, res) => void driven.calls.push(new DrivenCall(request, openStream(res))), {
        ...(stream && { get: (_, res) => void driven.streams.push(openStream(res)) }),
        ...script,
      }),
    );
    return driven;
  }

  get url(): string {
    return this.server.url;
  }

  /** The call with this index, once it is there. */
  async call(index = 0): Promise<DrivenCall> {
    await this.until(() => this.calls.length > index);
    return this.calls[index] as DrivenCall;
  }

  /** What was posted in answer to a question, once it is there. */
  async answerTo(id: string | number): Promise<any> {
    const answer = () => this.answers(id)[0];
    await this.until(() => answer() !== undefined);
    return answer();
  }

  /** Everything posted in answer to a question. */
  answers(id: string | number): any[] {
    return this.server.requests
      .filter(({ message, method }) => method === undefined && message?.id === id)
      .map(({ message }) => message);
  }

  /** The notifications of this method, once there are so many. */
  async notifications(method: string, count = 1): Promise<SeenRequest[]> {
    await this.until(() => this.server.requestsFor(method).length >= count);
    return this.server.requestsFor(method);
  }

  /** Waits until something holds that a request from the gateway makes true. */
  async until(holds: () => boolean): Promise<void> {
    if (holds()) return;
    await new Promise<void>((resolve, reject) => {
      const check = (): void => {
        if (!holds()) return;
        done();
        resolve();
      };
      // The log speaks before the script has run.
      const soon = (): void => void setImmediate(check);
      const timer = setTimeout(() => {
        done();
        reject(new Error(`The gateway sent nothing more:\n${this.summary()}`));
      }, PATIENCE_MS);
      const done = (): void => {
        clearTimeout(timer);
        this.server.log.off('request', soon).off('ended', soon);
      };
      this.server.log.on('request', soon).on('ended', soon);
    });
  }

  close(): Promise<void> {
    return this.server.close();
  }

  private summary(): string {
    return this.server.requests
      .map(({ httpMethod, body, ended }) => `${httpMethod} ${body} ${ended ?? 'open'}`)
      .join('\n');
  }
}

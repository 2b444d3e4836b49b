import type { ServerResponse } from 'node:http';
import { startScript } from '../peers/cells.js';
import type { RunningGateway } from '../peers/gateway.js';
import type { SeenRequest } from '../peers/peer-log.js';
import { type RawResponse, isResponse, sendRaw } from '../peers/raw-client.js';
import {
  type ScriptedServer,
  type ScriptedStream,
  openStream,
  progressFor,
  resultText,
} from '../peers/scripted-server.js';
import {
  type Era,
  KEY,
  POST_HEADERS,
  type WireSession,
  modernHeaders,
  modernText,
  openWireSession,
  requestText,
} from '../peers/wire-client.js';
import { ALL_CAPABILITIES, answers, asked } from './legs.js';
import { ACCEPT, form, nextQuestion, responseTo } from './rounds.js';

const PATIENCE_MS = 8000;
const QUESTION_ID = 'upstream-question';

/** The upstream's side of one request. */
export class UpstreamCall {
  private stream: ScriptedStream | undefined;

  constructor(
    private readonly era: Era,
    readonly request: SeenRequest,
    private readonly res: ServerResponse,
  ) {}

  get id(): string | number {
    return this.request.message.id;
  }

  open(): ScriptedStream {
    return (this.stream ??= openStream(this.res));
  }

  progress(value: number): void {
    this.open().send(progressFor(this.request, value));
  }

  ask(): void {
    if (this.era === 'legacy') {
      this.open().send({ jsonrpc: '2.0', id: QUESTION_ID, ...form('?') });
      return;
    }
    const result = { resultType: 'input_required', inputRequests: { ask: form('?') }, requestState: 's' };
    this.open().send(resultText(this.request, result));
    this.open().end();
  }

  finish(): void {
    const content = [{ type: 'text', text: 'done' }];
    this.open().send(resultText(this.request, { resultType: 'complete', content }));
    this.open().end();
  }

  vanish(): void {
    this.res.destroy();
  }
}

/** An upstream whose calls are told apart by the label in their arguments. */
export class LabelledUpstream {
  readonly calls: UpstreamCall[] = [];
  server!: ScriptedServer;

  private constructor(readonly era: Era) {}

  static async start(era: Era): Promise<LabelledUpstream> {
    const upstream = new LabelledUpstream(era);
    upstream.server = await startScript(
      era,
      (request, res) => void upstream.calls.push(new UpstreamCall(era, request, res)),
      era === 'modern' ? { tools: [{ name: 'ask', inputSchema: { type: 'object' } }] } : {},
    );
    return upstream;
  }

  /** The n-th request with this label, once it is there. */
  async call(label: string, index = 0): Promise<UpstreamCall> {
    const find = () =>
      this.calls.filter(({ request }) => request.message.params.arguments.label === label)[index];
    await this.until(() => find() !== undefined);
    return find() as UpstreamCall;
  }

  cancelled(call: UpstreamCall): boolean {
    return this.cancellations(call) > 0;
  }

  cancellations({ id }: UpstreamCall): number {
    return this.server.log.cancelled.filter(({ requestId }) => requestId === id).length;
  }

  /** What was answered to the question, on the session that runs this call. */
  answerFor({ request }: UpstreamCall): any {
    const session = request.headers['mcp-session-id'];
    return this.server.requests.find(
      ({ message, headers }) => message?.id === QUESTION_ID && headers['mcp-session-id'] === session,
    )?.message;
  }

  /** Waits until something holds that the gateway makes true; returns whether it does. */
  async until(holds: () => boolean, patienceMs = PATIENCE_MS): Promise<boolean> {
    if (holds()) return true;
    return new Promise((resolve) => {
      const done = (held: boolean): void => {
        clearTimeout(timer);
        log.off('request', soon).off('ended', soon);
        resolve(held);
      };
      const check = (): void => {
        if (holds()) done(true);
      };
      // The log speaks before the script has run.
      const soon = (): void => void setImmediate(check);
      const timer = setTimeout(() => done(holds()), patienceMs);
      const { log } = this.server;
      log.on('request', soon).on('ended', soon);
    });
  }

  close(): Promise<void> {
    return this.server.close();
  }
}

/** The client's side of one call: it starts it, answers, cancels, vanishes and comes back. */
export class CancellableCall {
  private readonly connection = new AbortController();
  private retryConnection = new AbortController();
  private state: ReturnType<typeof asked> | undefined;
  private session!: WireSession;
  /** The response of the latest request; undefined when the connection was cut before its head. */
  response!: Promise<RawResponse | undefined>;

  private constructor(
    private readonly era: Era,
    private readonly url: string,
    private readonly label: string,
  ) {}

  static async start(era: Era, gateway: RunningGateway, label: string): Promise<CancellableCall> {
    const call = new CancellableCall(era, gateway.url, label);
    // Each call has a session of its own, so that what is on an upstream session belongs to it.
    if (era === 'legacy') {
      call.session = await openWireSession(gateway.url, { capabilities: ALL_CAPABILITIES });
    }
    call.response = call.post('call', {}, call.connection.signal);
    return call;
  }

  /** Resolves when the server's first message has arrived. */
  async streaming(): Promise<void> {
    await (await this.present()).nextMessage();
  }

  /** Resolves when the question has arrived. */
  async asked(): Promise<any> {
    const response = await this.present();
    if (this.era === 'legacy') return nextQuestion(response);
    this.state = asked(await response.rpc());
    return undefined;
  }

  /** Answers: by a response, or by a retry. */
  async answer(question: any): Promise<void> {
    if (this.era === 'legacy') {
      await (await this.session.post(responseTo(question.id, ACCEPT))).text();
    } else {
      this.response = this.retry();
    }
  }

  /** Comes back with the answers. */
  async retry(): Promise<RawResponse | undefined> {
    const { state, keys } = this.state ?? { state: '', keys: [] };
    this.retryConnection = new AbortController();
    const retry = { requestState: state, inputResponses: answers(keys, ACCEPT) };
    return this.post('retry', retry, this.retryConnection.signal);
  }

  /** Cancels in the way of the era. */
  async cancel(): Promise<void> {
    if (this.era === 'modern') this.vanish();
    else await (await this.session.notify('notifications/cancelled', { requestId: 'call' })).text();
  }

  vanish(): void {
    this.connection.abort();
    this.retryConnection.abort();
  }

  /** Comes back to the stream that was cut, behind its last event; undefined when no event id was learnt. */
  async resume(): Promise<RawResponse | undefined> {
    const response = await this.response;
    const { id } = response?.blocks.findLast((block) => block.id !== undefined) ?? {};
    return id === undefined ? undefined : this.session.get(id);
  }

  /** The responses in what has arrived, once it is over. */
  static async responses(response: RawResponse): Promise<any[]> {
    await response.ended;
    if (response.isStream) return response.messages.filter(isResponse);
    return response.received === '' ? [] : [JSON.parse(response.received)];
  }

  private async present(): Promise<RawResponse> {
    const response = await this.response;
    if (response === undefined) throw new Error('the connection was cut before the response head');
    return response;
  }

  private async post(id: string, retry: object, signal: AbortSignal): Promise<RawResponse | undefined> {
    const params = { name: 'ask', arguments: { label: this.label }, ...retry };
    const meta = { progressToken: 'p' };
    const legacy = this.era === 'legacy';
    const body = legacy
      ? requestText(id, 'tools/call', { ...params, _meta: meta })
      : modernText(id, 'tools/call', params, { ...meta, [KEY.clientCapabilities]: ALL_CAPABILITIES });
    const headers = legacy ? { ...POST_HEADERS, ...this.session.headers } : modernHeaders(body);
    return sendRaw(this.url, { headers, body, signal }).catch((error: unknown) => {
      if (signal.aborted) return undefined;
      throw error;
    });
  }
}

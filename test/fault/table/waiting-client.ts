import { type RawResponse, hasMessage, isResponse } from '../../peers/raw-client.js';
import { type Era, WireSession, modernText, openWireSession, postModern } from '../../peers/wire-client.js';
import { AT_CLIENT } from './fault-cells.js';
import { until } from './scope.js';

const CODES: Readonly<Record<number, string>> = {
  [-31001]: AT_CLIENT.late,
  [-31003]: AT_CLIENT.unknown,
};

/** How long a small call may take, in milliseconds. */
const PROBE_MS = 2000;

/** A client of either era with one call under way. */
export class WaitingClient {
  /** What has come for the call, over all its connections. */
  private readonly responses: RawResponse[] = [];
  /** The messages in it that were parsed already, and how many texts of each response were looked at. */
  private readonly parsed: any[] = [];
  private readonly taken = new Map<RawResponse, number>();

  private constructor(
    readonly era: Era,
    private url: string,
    private session: WireSession | undefined,
  ) {}

  static async open(era: Era, url: string): Promise<WaitingClient> {
    return new WaitingClient(era, url, era === 'legacy' ? await openWireSession(url) : undefined);
  }

  /** Goes on under another address: of another process, or past a relay. */
  moveTo(url: string): void {
    this.url = url;
    const { session } = this;
    if (session !== undefined) {
      this.session = new WireSession(url, session.id, session.revision, session.initialize, {});
    }
  }

  /** Starts the call; resolves with the response head. */
  async begin(label: string): Promise<void> {
    this.responses.push(await this.post(label));
  }

  /** Makes a small call of its own; its status and, if it has one, the code of its error. Status 0: no answer came. */
  async probe(): Promise<{ status: number; code: number | undefined }> {
    const response = await this.post(`probe ${Math.random()}`);
    if (!(await until(() => response.isOver || response.messages.some(isResponse), PROBE_MS))) {
      response.close();
      return { status: 0, code: undefined };
    }
    const answer = await response.rpc();
    return { status: response.status, code: answer.error?.code };
  }

  /** Whether a small call succeeds; a client whose session is gone begins a new one, as clients do. */
  async isServed(): Promise<boolean> {
    try {
      const { status, code } = await this.probe();
      if (status === 404 && this.session !== undefined) this.session = await openWireSession(this.url);
      return status === 200 && code === undefined;
    } catch {
      return false;
    }
  }

  /** Waits for the n-th progress. */
  async heard(count: number): Promise<void> {
    if (!(await until(() => this.progress.length >= count))) throw new Error(`progress ${count} never came`);
  }

  /** Progress values so far, in the order of their arrival. */
  get progress(): number[] {
    return this.messages
      .filter(({ method }) => method === 'notifications/progress')
      .map(({ params }) => params.progress);
  }

  get answered(): boolean {
    return this.messages.some(isResponse);
  }

  /** Whether the present connection is over. */
  get disconnected(): boolean {
    return this.latest.isOver;
  }

  hangUp(): void {
    this.latest.close();
  }

  /** Comes back to the call's stream with the last id it has, again while it is asked to wait; the status in the end. */
  async resume(): Promise<number> {
    const id = this.responses.flatMap(({ blocks }) => blocks).findLast((block) => block.id !== undefined)?.id;
    if (this.session === undefined || id === undefined) throw new Error('there is nothing to resume');
    for (let tries = 0; ; tries++) {
      const response = await this.session.get(id);
      if (response.status === 200) this.responses.push(response);
      if (response.status !== 503 || tries > 30) return response.status;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  }

  /** How the call ended, once it has an answer or its connection is over. */
  async ending(): Promise<string> {
    await until(() => this.answered || this.disconnected);
    const values = this.progress;
    if (values.some((value, index) => value !== index + 1)) return `progress ${values.join()}`;
    const answers = this.messages.filter(isResponse);
    if (answers.length > 1) return `${answers.length} responses`;
    const [answer] = answers;
    if (answer === undefined) return this.disconnected ? AT_CLIENT.cut : AT_CLIENT.nothing;
    if (answer.error === undefined) return AT_CLIENT.result;
    return CODES[answer.error.code] ?? `error ${answer.error.code}`;
  }

  private get latest(): RawResponse {
    const response = this.responses.at(-1);
    if (response === undefined) throw new Error('no call was begun');
    return response;
  }

  /** Everything so far, each parsed once: there can be a lot of it. */
  private get messages(): readonly any[] {
    for (const response of this.responses) {
      const from = this.taken.get(response) ?? 0;
      const texts = response.isStream
        ? response.blocks.slice(from).map((block) => (hasMessage(block) ? block.data : undefined))
        : (response.isOver ? [response.received] : []).slice(from);
      this.taken.set(response, from + texts.length);
      for (const text of texts) if (text !== undefined) this.parsed.push(JSON.parse(text));
    }
    return this.parsed;
  }

  private post(label: string): Promise<RawResponse> {
    const params = { name: 't', arguments: { label } };
    const meta = { progressToken: label };
    return this.session === undefined
      ? postModern(this.url, modernText(label, 'tools/call', params, meta))
      : this.session.request(label, 'tools/call', { ...params, _meta: meta });
  }
}

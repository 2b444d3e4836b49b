import { ownerOf } from '../../../src/auth/principal.js';
import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import { Ending } from '../../../src/exchange/ending.js';
import type { Caller, ClientDescription, Era, Exchange } from '../../../src/exchange/exchange.js';
import { type FailedOutcome, type Outcome, failure } from '../../../src/exchange/outcome.js';
import type { Answer, Question } from '../../../src/exchange/question.js';
import { gracefulEnd } from '../../../src/exchange/listen-service.js';
import { withProgressToken } from '../../../src/exchange/relabel.js';
import { METHOD_NOT_FOUND } from '../../../src/jsonrpc/error-code.js';
import { type Message, type RawId, parseMessage } from '../../../src/jsonrpc/message.js';
import { MISSING_CLIENT_CAPABILITY } from '../../../src/translation/error.js';
import { isWanted } from '../../../src/translation/log-level.js';
import {
  INTERACTIVE_METHODS,
  QUESTION_METHODS,
  missingCapability,
  undeclaredCode,
} from '../../../src/translation/question.js';
import type { Leg } from './leg.js';
import { OpenQuestions } from './open-questions.js';
import type { Parked, Parking } from './parking.js';
import { requestDigest } from './request-digest.js';

/** Questions that arrive within this many milliseconds of each other travel in one result. */
const GATHER_MS = 30;

/** What stays of the request of an open subscription. */
const LISTENING = parseMessage('{"jsonrpc":"2.0","id":0,"method":"subscriptions/listen"}', { maxDepth: 4 });

/** Notifications kept for a client that is away; older ones go first. */
const MAX_KEPT = 200;

/**
 * One request of a modern client, over as many responses as the upstream has questions. Between two of them it is
 * parked: the upstream call goes on, and what it says meanwhile is kept for the next response. The client closing a
 * response cancels; ending one with `input_required` does not.
 * @see /specification/2026-07-28/basic/patterns/mrtr
 */
export class ModernExchange implements Exchange, Parked {
  readonly era: Era = 'modern';
  readonly method: string;
  readonly id: RawId;
  /** Cancelled, or over on the gateway's own initiative. */
  private readonly cancelled = new Ending();
  private abort: AbortController | undefined;
  private asked: OpenQuestions | undefined;
  private leg: Leg | undefined;
  /** The token of the latest response: what arrives between two of them is kept under it. */
  private token: RawId | undefined;
  private gather: NodeJS.Timeout | undefined;
  private kept: Message[] = [];
  private keptBytes = 0;
  /** The handle of the place where this exchange waits for its client. */
  private handle: string | undefined;
  private outcome: Outcome | undefined;
  private digest: string | undefined;

  constructor(
    public message: Message,
    /** What the latest request says of its client: each speaks for itself only. */
    public client: ClientDescription,
    readonly caller: Caller,
    readonly headers: Readonly<Record<string, string>>,
    leg: Leg,
    private readonly parking: Parking<ModernExchange>,
    private readonly upstreamName: string,
  ) {
    this.method = message.method ?? '';
    this.id = message.id ?? 'null';
    this.serve(leg);
  }

  private get questions(): OpenQuestions {
    this.asked ??= new OpenQuestions();
    return this.asked;
  }

  /** Made when somebody asks: a subscription that waits for hours does without. */
  get signal(): AbortSignal {
    if (this.abort === undefined) {
      this.abort = new AbortController();
      if (this.cancelled.over) this.abort.abort();
    }
    return this.abort.signal;
  }

  onCancel(listener: () => void): void {
    this.cancelled.onEnd(listener);
  }

  get principalKey(): string {
    return this.caller.principal.key;
  }

  get ownerKey(): string {
    return ownerOf(this.caller.principal, this.caller.remoteAddress);
  }

  get size(): number {
    const outcome = this.outcome?.message?.text.length ?? 0;
    return this.message.text.length + (this.asked?.bytes ?? 0) + this.keptBytes + outcome;
  }

  /** Questions the client has not answered yet. */
  get openQuestions(): number {
    return this.asked?.size ?? 0;
  }

  get progressToken(): RawId | undefined {
    return this.token;
  }

  /** An upstream that streams may still refuse with a status of its own: nothing is sent before its first message. */
  begin(): void {
    // Nothing to do: see above.
  }

  notify(message: Message): boolean {
    if (this.cancelled.over || this.outcome !== undefined) return true;
    // Its answer has begun: what it asked for has been read, and is as long as the rest of it is small.
    if (this.method === 'subscriptions/listen') this.message = LISTENING;
    if (this.leg !== undefined) return this.leg.send(message.text);
    this.keep(message);
    return true;
  }

  onReady(listener: () => void): void {
    if (this.leg === undefined) listener();
    else this.leg.onReady(listener);
  }

  async ask(questions: readonly Question[], signal: AbortSignal): Promise<readonly Answer[]> {
    if (this.cancelled.over || this.outcome !== undefined) throw over();
    for (const question of questions) this.admit(question);
    return Promise.all(questions.map((question) => this.askOne(question, signal)));
  }

  /** The upstream call is over. A client that is away finds the outcome when it comes back. */
  finish(outcome: Outcome): void {
    if (this.outcome !== undefined) return;
    this.outcome = outcome;
    clearTimeout(this.gather);
    // A question from outside the call may still be open; nobody will be asked it any more during this one.
    this.asked?.rejectAll(over());
    if (this.leg !== undefined) this.leg.finish(outcome);
    else if (!this.fits()) this.outcome = tooLarge();
  }

  /**
   * Ends a subscription on the gateway's own initiative, with the result that says so.
   * @see /specification/2026-07-28/basic/patterns/subscriptions#graceful-closure
   */
  endSubscription(): void {
    this.finish(gracefulEnd(this));
    this.abort?.abort();
    this.cancelled.end();
  }

  /** The gateway is going: the client is told so, and the upstream that nobody waits any more. */
  shutDown(): void {
    if (this.outcome !== undefined) return;
    const text = 'the gateway is shutting down; the request may or may not have run';
    this.refuse(failure(new GatewayError(GATEWAY_CODE.shuttingDown, text, { status: 503 })));
  }

  /** Whether a request is this one again, at the same upstream. */
  isSame(message: Message, upstreamName: string): boolean {
    this.digest ??= requestDigest(this.message);
    return this.upstreamName === upstreamName && this.digest === requestDigest(message);
  }

  /** What is wrong with the answers a retry brings; undefined when nothing is. */
  answersProblem(answers: ReadonlyMap<string, string>): string | undefined {
    return this.questions.problem(answers);
  }

  /**
   * The capability, as JSON text, that a retry lacks to be asked once more what it does not answer; undefined when it
   * lacks none.
   */
  missingToAskAgain(client: ClientDescription, answers: ReadonlyMap<string, string>): string | undefined {
    return this.questions.missingToAskAgain(client.capabilities, answers);
  }

  /** The client is back with answers, and waits on another response. */
  resume(leg: Leg, client: ClientDescription, answers: ReadonlyMap<string, string>): void {
    this.handle = undefined;
    this.client = client;
    this.serve(leg);
    const kept = this.kept.splice(0);
    this.keptBytes = 0;
    for (const message of kept) {
      if (message.method === 'notifications/progress') {
        if (leg.progressToken !== undefined) leg.send(withProgressToken(message, leg.progressToken).text);
      } else if (isWanted(message, client.logLevel)) leg.send(message.text);
    }
    if (this.outcome !== undefined) {
      leg.finish(this.outcome);
      return;
    }
    this.questions.take(answers);
    this.gatherSoon();
  }

  /** Nobody came back in time: the upstream is told that nobody will. */
  expire(): void {
    this.kept = [];
    this.keptBytes = 0;
    this.cancel();
  }

  private serve(leg: Leg): void {
    this.leg = leg;
    this.token = leg.progressToken;
    leg.onCancel(() => this.cancel());
  }

  private cancel(): void {
    this.abort?.abort();
    this.cancelled.end();
    clearTimeout(this.gather);
    this.asked?.rejectAll(over());
  }

  /** Ends the exchange on the gateway's own initiative: the client is told why, the upstream that nobody waits. */
  private refuse(outcome: FailedOutcome): void {
    this.finish(outcome);
    this.cancel();
  }

  /** Keeps a notification for the next response, within what the client may keep here; older ones go first. */
  private keep(message: Message): void {
    this.kept.push(message);
    this.keptBytes += message.text.length;
    if (this.kept.length > MAX_KEPT) this.dropOldest();
    this.fits();
  }

  /** Makes what is kept fit into the owner's share. False: it does not, even without any notification. */
  private fits(): boolean {
    while (this.handle !== undefined && !this.parking.resize(this.handle)) {
      if (this.kept.length === 0) return false;
      this.dropOldest();
    }
    return true;
  }

  private dropOldest(): void {
    this.keptBytes -= this.kept.shift()?.text.length ?? 0;
  }

  /** Refuses questions this client must not be asked. @throws GatewayError */
  private admit({ method, params }: Question): void {
    if (!QUESTION_METHODS.has(method) || !INTERACTIVE_METHODS.has(this.method)) {
      throw new GatewayError(METHOD_NOT_FOUND, `${method} cannot be asked during ${this.method}`);
    }
    const missing = missingCapability(this.client.capabilities, method, params);
    if (missing === undefined) return;
    if (this.leg?.committed === false) {
      // Nothing was sent yet, so the client can still be told in the way the specification demands.
      this.refuse(failure(lacksCapability(missing)));
    }
    throw new GatewayError(
      undeclaredCode(this.client.capabilities, method),
      `the client did not declare what ${method} needs`,
    );
  }

  private async askOne(question: Question, signal: AbortSignal): Promise<Answer> {
    const { answer, withdraw } = this.questions.add(question);
    const onWithdraw = () =>
      withdraw(new GatewayError(GATEWAY_CODE.questionFailed, 'the question was withdrawn'));
    if (signal.aborted) onWithdraw();
    else signal.addEventListener('abort', onWithdraw, { once: true });
    this.gatherSoon();
    try {
      return await answer;
    } finally {
      signal.removeEventListener('abort', onWithdraw);
    }
  }

  private gatherSoon(): void {
    if (this.gather !== undefined || this.leg === undefined || this.questions.size === 0) return;
    this.gather = setTimeout(() => this.park(), GATHER_MS);
  }

  /** Ends the response with what is open, and waits for the retry. */
  private park(): void {
    this.gather = undefined;
    const { leg } = this;
    if (leg === undefined || this.cancelled.over || this.outcome !== undefined || this.questions.size === 0)
      return;
    try {
      this.handle = this.parking.park(this, this.questions.oldestAt);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      this.refuse(failure(error));
      return;
    }
    this.leg = undefined;
    const requests = this.questions.print();
    leg.finishWith(
      `{"resultType":"input_required","inputRequests":${requests},"requestState":${JSON.stringify(this.handle)}}`,
    );
  }
}

/**
 * The error for a client that did not declare what it takes to be asked.
 * @param missing JSON text of a `ClientCapabilities` object
 * @see /specification/2026-07-28/basic/index#meta
 */
export function lacksCapability(missing: string): GatewayError {
  return new GatewayError(MISSING_CLIENT_CAPABILITY, 'Missing required client capability', {
    status: 400,
    data: `{"requiredCapabilities":${missing}}`,
  });
}

/** What a question is refused with when its exchange ended first. */
function over(): GatewayError {
  return new GatewayError(GATEWAY_CODE.questionFailed, 'the request this was asked for is over');
}

/** The result of a call whose client is away and may keep no more here: that it ran is all that can be kept. */
function tooLarge(): FailedOutcome {
  return failure(
    new GatewayError(
      GATEWAY_CODE.responseEvicted,
      'the response came while the answers were awaited, and was too large to be kept; the request has run',
      { status: 200 },
    ),
  );
}

import { GATEWAY_CODE, GatewayError } from '../errors/gateway-error.js';
import { Draft } from '../jsonrpc/draft.js';
import { INTERNAL_ERROR } from '../jsonrpc/error-code.js';
import { memberOf, scanInnerObject, stringValue, valueText } from '../jsonrpc/json-scan.js';
import type { Message } from '../jsonrpc/message.js';
import {
  QUESTION_METHODS,
  answerProblem,
  missingCapability,
  portableParams,
} from '../translation/question.js';
import { elicitationParamsToLegacy } from '../translation/elicitation.js';
import type { LegacyFeatures } from '../translation/legacy-features.js';
import { samplingParamsToLegacy } from '../translation/sampling.js';
import { deriveExchange } from './derive.js';
import type { Exchange } from './exchange.js';
import {
  type FailedOutcome,
  type InputRequiredOutcome,
  type Outcome,
  cancelled,
  failure,
} from './outcome.js';
import { pause } from './pause.js';
import type { Answer, Question } from './question.js';
import { redraw } from './relabel.js';
import { Backoff } from '../upstreams/backoff.js';
import { UrlConsents } from './url-consents.js';

/** What one round asks for. */
interface Round {
  readonly questions: readonly Question[];
  /** JSON text of the `requestState`, byte for byte; absent when the server sent none. */
  readonly state: string | undefined;
}

/** Bounds of a call with questions. */
export interface RoundLimits {
  /** Rounds with questions. */
  readonly rounds: number;
  /** All rounds together, in milliseconds. */
  readonly maxMs: number;
}

/**
 * Drives a modern server's rounds of questions on behalf of a client that is asked directly (X16): each question becomes
 * a request to the client, and the original request is sent again with the answers of this round only and the server's
 * state exactly as it came.
 * @param run sends the request, as translated for this server
 * @param features what the client's revision can be asked
 * @see /specification/2026-07-28/basic/patterns/mrtr#client-requirements-basic-workflow
 */
export async function runWithQuestions(
  exchange: Exchange,
  run: (exchange: Exchange) => Promise<Outcome>,
  limits: RoundLimits,
  features: LegacyFeatures,
): Promise<Outcome> {
  // What is under way when the time is up ends at once: a call upstream, a question, a pause. Not `AbortSignal.any`: every
  // call passes here, and what that keeps track of costs more than the rest of this function.
  const over = new AbortController();
  const end = (): void => over.abort(exchange.signal.reason);
  const timer = setTimeout(end, limits.maxMs);
  timer.unref();
  if (exchange.signal.aborted) end();
  else exchange.signal.addEventListener('abort', end, { once: true });
  const bounded = deriveExchange(exchange, { signal: over.signal });
  try {
    const outcome = await rounds(bounded, run, limits.rounds, features);
    const expired = outcome.kind === 'failed' && over.signal.aborted && !exchange.signal.aborted;
    return expired ? failure(tooLong()) : outcome;
  } finally {
    clearTimeout(timer);
    exchange.signal.removeEventListener('abort', end);
  }
}

async function rounds(
  exchange: Exchange,
  run: (exchange: Exchange) => Promise<Outcome>,
  max: number,
  features: LegacyFeatures,
): Promise<Outcome> {
  const consents = new UrlConsents();
  const backoff = new Backoff(250, 10_000);
  let asks = 0;
  let current = exchange;
  for (;;) {
    const outcome = await run(current);
    if (outcome.kind !== 'inputRequired') {
      for (const notice of consents.completed([])) exchange.notify(notice);
      return outcome;
    }
    if (exchange.signal.aborted) return cancelled();
    const round = readRound(outcome);
    if (round === undefined) return failure(unusable());
    for (const notice of consents.completed(round.questions)) exchange.notify(notice);
    const { fresh, repeated } = consents.split(round.questions);
    let answers: readonly Answer[] = repeated;
    if (fresh.length > 0) {
      asks++;
      if (asks > max) return failure(tooManyRounds(max));
      const asked = await ask(exchange, fresh, consents, features);
      if (asked.kind === 'failed') return asked;
      answers = [...repeated, ...asked.answers];
    } else {
      // Nothing new to ask: the server only wants to be asked again, and not at once.
      await pause(backoff.next(), exchange.signal);
    }
    if (exchange.signal.aborted) return cancelled();
    current = deriveExchange(exchange, { message: retry(exchange.message, answers, round.state) });
  }
}

async function ask(
  exchange: Exchange,
  questions: readonly Question[],
  consents: UrlConsents,
  features: LegacyFeatures,
): Promise<{ kind: 'answered'; answers: readonly Answer[] } | FailedOutcome> {
  for (const { method, params } of questions) {
    const missing = missingCapability(exchange.client.capabilities, method, params);
    if (missing !== undefined) return failure(undeclared(method, missing));
  }
  const withdraw = new AbortController();
  const signal = AbortSignal.any([exchange.signal, withdraw.signal]);
  try {
    const answers = await Promise.all(
      questions.map(async (question): Promise<Answer> => {
        const [answer] = await exchange.ask([consents.prepare(forLegacyClient(question, features))], signal);
        const usable = usableAnswer(question, answer);
        consents.note(question, usable);
        return usable;
      }),
    );
    return { kind: 'answered', answers };
  } catch (error) {
    if (exchange.signal.aborted) return cancelled();
    if (error instanceof GatewayError) return failure(error);
    throw error;
  } finally {
    // One that failed ends the exchange: nobody should think about the others any longer.
    withdraw.abort();
  }
}

/**
 * The answer as the server gets it.
 * @throws GatewayError the client's own error, for a question that only an answer helps on
 */
function usableAnswer(question: Question, answer: Answer | undefined): Answer {
  const { key, method } = question;
  const problem =
    answer?.kind === 'result' ? answerProblem(method, answer.result) : 'was answered with an error';
  if (answer?.kind === 'result' && problem === undefined) return { ...answer, key };
  // A client that cannot show the form has, for the server, dismissed it.
  if (method === 'elicitation/create') return { kind: 'result', key, result: '{"action":"cancel"}' };
  if (answer?.kind === 'error') throw clientError(answer.error);
  throw new GatewayError(
    GATEWAY_CODE.questionFailed,
    `the client's answer to ${method} ${problem ?? 'is missing'}`,
    { status: 200 },
  );
}

/** A question in words of the client's revision. */
function forLegacyClient({ key, method, params }: Question, features: LegacyFeatures): Question {
  const portable = portableParams(params);
  if (portable === undefined) return { key, method };
  if (method === 'sampling/createMessage')
    return { key, method, params: samplingParamsToLegacy(portable, features) };
  if (method === 'elicitation/create')
    return { key, method, params: elicitationParamsToLegacy(portable, features) };
  return { key, method, params: portable };
}

/** The server's questions and state; undefined when the result has neither, or questions nobody knows. */
function readRound(outcome: InputRequiredOutcome): Round | undefined {
  const { text, result } = outcome.message;
  const requests = memberOf(result?.object, 'inputRequests');
  const state = memberOf(result?.object, 'requestState');
  if (requests === undefined && state === undefined) return undefined;
  if (state !== undefined && stringValue(text, state) === undefined) return undefined;
  const questions: Question[] = [];
  if (requests !== undefined) {
    if (text.charAt(requests.start) !== '{') return undefined;
    for (const entry of scanInnerObject(text, requests.start).members) {
      if (text.charAt(entry.start) !== '{') return undefined;
      const request = scanInnerObject(text, entry.start);
      const method = stringValue(text, memberOf(request, 'method'));
      const params = memberOf(request, 'params');
      if (method === undefined || !QUESTION_METHODS.has(method)) return undefined;
      if (params !== undefined && text.charAt(params.start) !== '{') return undefined;
      questions.push({
        key: entry.key,
        method,
        ...(params !== undefined && { params: valueText(text, params) }),
      });
    }
  }
  return { questions, state: state === undefined ? undefined : valueText(text, state) };
}

/** The original request again, with this round's answers and state. The id is new by nature: each send has its own. */
function retry(message: Message, answers: readonly Answer[], state: string | undefined): Message {
  const draft = new Draft(message.text);
  const params = message.params?.object;
  const responses = answers
    .flatMap((answer) => (answer.kind === 'result' ? [`${JSON.stringify(answer.key)}:${answer.result}`] : []))
    .join(',');
  if (params === undefined) {
    const members = [
      ...(answers.length > 0 ? [`"inputResponses":{${responses}}`] : []),
      ...(state !== undefined ? [`"requestState":${state}`] : []),
    ];
    draft.set(message.root, 'params', `{${members.join(',')}}`);
    return redraw(draft);
  }
  if (answers.length > 0) draft.set(params, 'inputResponses', `{${responses}}`);
  else draft.remove(params, 'inputResponses');
  if (state !== undefined) draft.set(params, 'requestState', state);
  else draft.remove(params, 'requestState');
  return redraw(draft);
}

function clientError(error: string): GatewayError {
  const scan = scanInnerObject(error, 0);
  const code = memberOf(scan, 'code');
  const data = memberOf(scan, 'data');
  const numeric = code === undefined ? Number.NaN : Number(valueText(error, code));
  return new GatewayError(
    Number.isInteger(numeric) ? numeric : INTERNAL_ERROR,
    stringValue(error, memberOf(scan, 'message')) ?? 'the client refused to answer',
    { status: 200, ...(data !== undefined && { data: valueText(error, data) }) },
  );
}

function undeclared(method: string, missing: string): GatewayError {
  return new GatewayError(
    GATEWAY_CODE.questionFailed,
    `the server asked for ${method}, which needs client capabilities that this client did not declare`,
    { status: 200, data: `{"requiredCapabilities":${missing}}` },
  );
}

function unusable(): GatewayError {
  return new GatewayError(
    GATEWAY_CODE.upstreamProtocol,
    'the server asked for input in a way nobody can answer',
    {
      status: 200,
    },
  );
}

function tooManyRounds(rounds: number): GatewayError {
  return new GatewayError(
    GATEWAY_CODE.tooManyRounds,
    `the server asked more than ${rounds} rounds of questions`,
    {
      status: 200,
    },
  );
}

function tooLong(): GatewayError {
  return new GatewayError(GATEWAY_CODE.upstreamTimeout, 'the call with its questions took too long', {
    status: 504,
  });
}

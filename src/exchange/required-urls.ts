import { now } from '../clock/clock.js';
import { GATEWAY_CODE, GatewayError } from '../errors/gateway-error.js';
import { memberOf, scanInnerObject, stringValue } from '../jsonrpc/json-scan.js';
import { LEGACY_URL_ELICITATION_REQUIRED, MISSING_CLIENT_CAPABILITY } from '../translation/error.js';
import {
  elicitedUrl,
  missingCapability,
  requiredElicitations,
  withoutElicitationId,
} from '../translation/question.js';
import { Backoff } from '../upstreams/backoff.js';
import { CompletionNews } from './completion-news.js';
import type { Exchange, UpstreamHalf } from './exchange.js';
import type { RoundLimits } from './input-rounds.js';
import { type FailedOutcome, type Outcome, cancelled, failure } from './outcome.js';
import type { Question } from './question.js';
import { introductionOf } from './relay.js';

/** How long a call is repeated for URLs the client has consented to before it is asked again, in milliseconds. */
const COMPLETION_MS = 20_000;

/** Pauses between two attempts, in milliseconds; with news to wait for, asking is only for servers that send none. */
const POLL = { blind: { first: 250, longest: 4000 }, withNews: { first: 4000, longest: 4000 } } as const;

/**
 * Runs a request whose legacy server may refuse it until somebody has opened a URL (X18): the URLs become questions, and
 * the request, which provably did not run, is sent again after consent. Consent is not completion, so it may be refused
 * some more times while the person is still busy in the browser; a server with a stream of its own may say when that is
 * over.
 * @see /specification/2025-11-25/client/elicitation#url-elicitation-required-error
 */
export async function runWithRequiredUrls(
  exchange: Exchange,
  upstream: UpstreamHalf,
  limits: RoundLimits,
): Promise<Outcome> {
  let outcome = await upstream.run(exchange);
  if (!isRequired(outcome)) return outcome;
  // From now on: the person may be quicker than the client's consent.
  const news = new CompletionNews(upstream, introductionOf(exchange));
  try {
    for (let round = 0; isRequired(outcome); round++) {
      news.expect(elicitationIds(outcome));
      const required = urlQuestions(outcome);
      const missing = firstMissing(exchange, required);
      if (missing !== undefined) return undeclared(missing);
      if (required.length === 0) return outcome;
      if (round >= limits.rounds) return failure(tooManyRounds(limits.rounds));
      const consented = await consents(exchange, required);
      if (consented !== true) return consented ?? outcome;
      outcome = await repeat(exchange, upstream, new Set(required.map(urlOf)), news);
    }
    return outcome;
  } finally {
    news.stop();
  }
}

/** Sends the request again until it is no longer refused for these URLs, or the time for that is over. */
async function repeat(
  exchange: Exchange,
  upstream: UpstreamHalf,
  consented: ReadonlySet<string | undefined>,
  news: CompletionNews,
): Promise<Outcome> {
  const until = now() + COMPLETION_MS;
  const { first, longest } = news.live ? POLL.withNews : POLL.blind;
  const backoff = new Backoff(first, longest);
  for (;;) {
    const outcome = await upstream.run(exchange);
    if (!isRequired(outcome)) return outcome;
    news.expect(elicitationIds(outcome));
    const left = until - now();
    // Another URL needs another consent.
    if (left <= 0 || urlQuestions(outcome).some((question) => !consented.has(urlOf(question))))
      return outcome;
    await news.wait(Math.min(backoff.next(), left), exchange.signal);
    if (exchange.signal.aborted) return cancelled();
  }
}

function isRequired(outcome: Outcome): outcome is FailedOutcome {
  return (
    outcome.kind === 'failed' &&
    outcome.origin === 'upstream' &&
    outcome.code === LEGACY_URL_ELICITATION_REQUIRED
  );
}

function urlQuestions(outcome: FailedOutcome): Question[] {
  return requiredElicitations(outcome.data).map((params, index) => ({
    key: `url${index}`,
    method: 'elicitation/create',
    params: withoutElicitationId(params).params,
  }));
}

function elicitationIds(outcome: FailedOutcome): string[] {
  return requiredElicitations(outcome.data).flatMap(
    (params) => withoutElicitationId(params).elicitationId ?? [],
  );
}

function urlOf({ method, params }: Question): string | undefined {
  return elicitedUrl(method, params);
}

function firstMissing(exchange: Exchange, questions: readonly Question[]): string | undefined {
  for (const { method, params } of questions) {
    const missing = missingCapability(exchange.client.capabilities, method, params);
    if (missing !== undefined) return missing;
  }
  return undefined;
}

/** X17: the call did not run for want of something the client never offered. */
function undeclared(missing: string): FailedOutcome {
  return failure(
    new GatewayError(MISSING_CLIENT_CAPABILITY, 'Missing required client capability', {
      status: 400,
      data: `{"requiredCapabilities":${missing}}`,
    }),
  );
}

function tooManyRounds(rounds: number): GatewayError {
  return new GatewayError(
    GATEWAY_CODE.tooManyRounds,
    `the server required URLs to be opened in more than ${rounds} rounds`,
    { status: 200 },
  );
}

/** True when all were accepted; undefined when one was not; a failure when nobody could be asked. */
async function consents(
  exchange: Exchange,
  questions: readonly Question[],
): Promise<true | FailedOutcome | undefined> {
  try {
    const answers = await exchange.ask(questions, exchange.signal);
    const accepted = answers.every(
      (answer) =>
        answer.kind === 'result' &&
        stringValue(answer.result, memberOf(scanInnerObject(answer.result, 0), 'action')) === 'accept',
    );
    return accepted ? true : undefined;
  } catch (error) {
    if (exchange.signal.aborted) return cancelled();
    if (error instanceof GatewayError) return failure(error);
    throw error;
  }
}

import { GatewayError } from '../errors/gateway-error.js';
import { memberOf, scanInnerObject, stringValue } from '../jsonrpc/json-scan.js';
import { LEGACY_URL_ELICITATION_REQUIRED } from '../translation/error.js';
import { missingCapability, requiredElicitations, withoutElicitationId } from '../translation/question.js';
import { Backoff } from '../upstreams/backoff.js';
import type { Exchange } from './exchange.js';
import type { RoundLimits } from './input-rounds.js';
import { type FailedOutcome, type Outcome, cancelled, failure } from './outcome.js';
import { pause } from './pause.js';
import type { Question } from './question.js';

/** How long a call is repeated for URLs the client has consented to before it is asked again, in milliseconds. */
const COMPLETION_MS = 20_000;

/**
 * Runs a request whose legacy server may refuse it until somebody has opened a URL (X18): the URLs become questions, and
 * the request, which provably did not run, is sent again after consent. Consent is not completion, so it may be refused
 * some more times while the person is still busy in the browser.
 * @see /specification/2025-11-25/client/elicitation#url-elicitation-required-error
 */
export async function runWithRequiredUrls(
  exchange: Exchange,
  run: (exchange: Exchange) => Promise<Outcome>,
  limits: RoundLimits,
): Promise<Outcome> {
  for (let round = 0; ; round++) {
    let outcome = await run(exchange);
    if (!isRequired(outcome)) return outcome;
    const questions = urlQuestions(outcome);
    const undeclared = questions.some(
      ({ method, params }) => missingCapability(exchange.client.capabilities, method, params) !== undefined,
    );
    if (questions.length === 0 || undeclared || round >= limits.rounds) return outcome;
    const consented = await consents(exchange, questions);
    if (consented !== true) return consented ?? outcome;
    const backoff = new Backoff(250, 4000);
    const until = Date.now() + COMPLETION_MS;
    while (Date.now() < until) {
      outcome = await run(exchange);
      if (!isRequired(outcome)) return outcome;
      await pause(backoff.next(), exchange.signal);
      if (exchange.signal.aborted) return cancelled();
    }
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

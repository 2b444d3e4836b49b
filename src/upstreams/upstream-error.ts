import { GATEWAY_CODE, GatewayError } from '../errors/gateway-error.js';
import type { FailedOutcome } from '../exchange/outcome.js';
import { memberOf, stringValue, valueText } from '../jsonrpc/json-scan.js';
import { InvalidMessageError, type Message, parseMessage } from '../jsonrpc/message.js';
import type { ResponseHead } from './upstream-http.js';

/** A JSON-RPC error response of an upstream as an outcome, verbatim where nothing needs changing. */
export function upstreamError(message: Message, head?: ResponseHead): FailedOutcome {
  const error = message.error?.object;
  const code = memberOf(error, 'code');
  const text = stringValue(message.text, memberOf(error, 'message'));
  const data = memberOf(error, 'data');
  const numeric = code === undefined ? Number.NaN : Number(valueText(message.text, code));
  const wellFormed = Number.isInteger(numeric) && text !== undefined;
  return {
    kind: 'failed',
    origin: 'upstream',
    code: Number.isInteger(numeric) ? numeric : -32603,
    text: text ?? 'the upstream failed without saying why',
    ...(data !== undefined && { data: valueText(message.text, data) }),
    ...(head !== undefined && head.status >= 400 && { status: head.status, headers: relayedHeaders(head) }),
    ...(wellFormed && { message }),
  };
}

/** The JSON-RPC error in the body of a refusal, if there is one, whatever its media type says. */
export function errorMessageIn(body: string, maxDepth: number): Message | undefined {
  try {
    const message = parseMessage(body, { maxDepth, lenient: true });
    return message.kind === 'error' ? message : undefined;
  } catch (error) {
    if (error instanceof InvalidMessageError) return undefined;
    throw error;
  }
}

/** An HTTP status that came without any JSON-RPC error. */
export function statusError(head: ResponseHead, upstream: string): GatewayError {
  const { status } = head;
  const relayed = status === 401 || status === 403 || status === 429;
  const redirect = status >= 300 && status < 400;
  const sentence = redirect
    ? `the upstream ${upstream} redirects elsewhere (HTTP ${status}); the gateway does not follow redirects to another origin`
    : `the upstream ${upstream} answered HTTP ${status} without a JSON-RPC error`;
  return new GatewayError(GATEWAY_CODE.upstreamStatus, sentence, {
    status: relayed ? status : status === 503 ? 503 : 502,
    headers: relayedHeaders(head),
  });
}

/** A response to a request that is no JSON-RPC response. @param problem what is wrong with it */
export function invalidResponse(upstream: string, method: string, problem: string): GatewayError {
  return new GatewayError(
    GATEWAY_CODE.upstreamProtocol,
    `the upstream ${upstream} answered ${method} with no JSON-RPC response (${problem})`,
    { status: 502 },
  );
}

/** The response headers of a refusal that concern the client: how to authenticate, and when to come back. */
function relayedHeaders(head: ResponseHead): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  const challenge = head.headers['www-authenticate'];
  if (challenge !== undefined) headers['WWW-Authenticate'] = challenge;
  const retryAfter = head.headers['retry-after'];
  if (typeof retryAfter === 'string') headers['Retry-After'] = retryAfter;
  return headers;
}

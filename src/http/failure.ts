import { GatewayError } from '../errors/gateway-error.js';
import { INTERNAL_ERROR } from '../jsonrpc/error-code.js';
import { printError } from '../jsonrpc/print.js';
import type { HttpLog } from './options.js';
import type { ResponseReply } from './reply.js';

/** Refusals that usually mean a setting is missing; an operator has to see them to know. */
const NOTEWORTHY: ReadonlySet<number> = new Set([403, 421]);

/**
 * Ends a request that failed: with a JSON-RPC error without id while nothing was sent (this layer does not read
 * ids), by cutting the connection afterwards. What an unexpected error says goes to the log only.
 */
export function answerFailure(reply: ResponseReply, error: unknown, log: HttpLog): void {
  const known = error instanceof GatewayError ? error : undefined;
  if (known === undefined) log.error({ err: error }, 'A request failed unexpectedly.');
  else if (NOTEWORTHY.has(known.status)) log.warn({ status: known.status }, known.message);
  if (reply.closed) return;
  if (reply.started) {
    // A finished JSON answer stays as it is; a stream without its end would leave the client waiting.
    if (reply.streaming) reply.destroy();
    return;
  }
  if (known === undefined) {
    reply.json(500, printError(undefined, INTERNAL_ERROR, 'internal error'));
    return;
  }
  const body = printError(undefined, known.code, known.message, known.data);
  try {
    reply.json(known.status, body, known.headers);
  } catch (cause) {
    // Headers of an error may come from an upstream; one that cannot be sent must not leave the client unanswered.
    log.error({ err: cause }, 'The headers of an error cannot be sent.');
    reply.json(known.status, body);
  }
}

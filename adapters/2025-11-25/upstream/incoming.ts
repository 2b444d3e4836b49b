import type { UpstreamContext } from '../../adapter.js';
import { JsonScanError, firstToken, scanArrayText } from '../../../src/jsonrpc/json-scan.js';
import { InvalidMessageError, type Message, parseMessage } from '../../../src/jsonrpc/message.js';

/**
 * The messages in one JSON text of an upstream: one, or several where an older revision batches. What is no JSON-RPC
 * message is left out and logged: one bad event must not take the others with it.
 * @param onInvalid hears of a message that was left out
 */
export function readMessages(
  text: string,
  context: UpstreamContext,
  onInvalid?: (error: InvalidMessageError) => void,
): Message[] {
  const maxDepth = context.config.limits.jsonDepth;
  try {
    if (firstToken(text) !== '[') return [parseMessage(text, { maxDepth, lenient: true })];
    return scanArrayText(text, maxDepth).map((span) =>
      parseMessage(text.slice(span.start, span.end), { maxDepth, lenient: true }),
    );
  } catch (error) {
    if (!(error instanceof InvalidMessageError || error instanceof JsonScanError)) throw error;
    context.log.warn(
      { upstream: context.name, problem: error.message },
      'the upstream sent no JSON-RPC message',
    );
    if (error instanceof InvalidMessageError) onInvalid?.(error);
    return [];
  }
}

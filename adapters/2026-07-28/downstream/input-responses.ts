import { GatewayError } from '../../../src/errors/gateway-error.js';
import { INVALID_PARAMS } from '../../../src/jsonrpc/error-code.js';
import { kindOf, memberOf, scanInnerObject, valueText } from '../../../src/jsonrpc/json-scan.js';
import type { Message } from '../../../src/jsonrpc/message.js';

/**
 * The `inputResponses` of a retry: key to JSON text. Absent means none.
 * @throws GatewayError -32602 when it is no object
 * @see /specification/2026-07-28/basic/patterns/mrtr#inputresponses
 */
export function inputResponsesOf(message: Message): ReadonlyMap<string, string> {
  const member = memberOf(message.params?.object, 'inputResponses');
  if (member === undefined) return new Map();
  if (kindOf(message.text, member) !== 'object') {
    throw new GatewayError(INVALID_PARAMS, 'Invalid params: inputResponses must be an object', {
      status: 400,
    });
  }
  const answers = new Map<string, string>();
  for (const answer of scanInnerObject(message.text, member.start).members) {
    answers.set(answer.key, valueText(message.text, answer));
  }
  return answers;
}

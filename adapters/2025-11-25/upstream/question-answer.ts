import { legacyFeatures } from '../features.js';
import type { Answer, Question } from '../../../src/exchange/question.js';
import type { RawId } from '../../../src/jsonrpc/message.js';
import { printResult } from '../../../src/jsonrpc/print.js';
import { samplingResultToLegacy } from '../../../src/translation/sampling.js';
import type { UpstreamSession } from './session.js';

/**
 * The response to a question of a server, as JSON text. The answer of this session's own client goes as it is; one of a
 * client without sessions is put into words of the revision the server negotiated (X15).
 * @see /specification/2025-11-25/client/sampling#creating-messages
 */
export function printAnswer(
  id: RawId,
  { method }: Question,
  answer: Answer,
  session: UpstreamSession,
): string {
  if (answer.kind === 'error') return `{"jsonrpc":"2.0","id":${id},"error":${answer.error}}`;
  const translated = session.conversation === undefined && method === 'sampling/createMessage';
  const { result } = answer;
  return printResult(
    id,
    translated ? samplingResultToLegacy(result, legacyFeatures(session.revision)) : result,
  );
}

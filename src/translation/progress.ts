/**
 * Progress (X22). Tokens are matched and replaced as raw text: `0`, `"0"` and `1` are three tokens.
 * @see /specification/2026-07-28/basic/patterns/progress
 */
import type { Draft } from '../jsonrpc/draft.js';
import { type Span, kindOf, memberOf, valueText } from '../jsonrpc/json-scan.js';
import { type Message, type RawId, metaOf } from '../jsonrpc/message.js';

/** The token a request asks for progress with; absent when it has none that is a string or a number. */
export function requestedProgressToken(message: Message): RawId | undefined {
  return rawToken(message.text, memberOf(metaOf(message), 'progressToken'));
}

/** The token a `notifications/progress` carries. */
export function progressTokenOf(message: Message): RawId | undefined {
  return rawToken(message.text, memberOf(message.params?.object, 'progressToken'));
}

/** The `progress` of a notification: must grow from one to the next. Undefined when it is no number. */
export function progressValue(message: Message): number | undefined {
  const member = memberOf(message.params?.object, 'progress');
  if (member === undefined || kindOf(message.text, member) !== 'number') return undefined;
  return Number(valueText(message.text, member));
}

/** X22: puts another token into a `notifications/progress`, verbatim. */
export function retokenProgress(message: Message, draft: Draft, token: RawId): void {
  if (message.params?.object) draft.set(message.params.object, 'progressToken', token);
}

/** X22: puts another token into a request that asks for progress; a request that does not ask is left alone. */
export function retokenRequest(message: Message, draft: Draft, token: RawId): void {
  const meta = metaOf(message);
  if (meta !== undefined && memberOf(meta, 'progressToken')) draft.set(meta, 'progressToken', token);
}

function rawToken(text: string, member: Span | undefined): RawId | undefined {
  if (member === undefined) return undefined;
  const kind = kindOf(text, member);
  return kind === 'string' || kind === 'number' ? valueText(text, member) : undefined;
}

import { Draft } from '../jsonrpc/draft.js';
import { type Message, type RawId, parseMessage } from '../jsonrpc/message.js';
import { retokenProgress } from '../translation/progress.js';

/** The message as edited. The text was valid before, so the limits were checked already. */
export function redraw(draft: Draft): Message {
  return parseMessage(draft.print(), { maxDepth: Number.MAX_SAFE_INTEGER, lenient: true });
}

/** A progress notification under another token. */
export function withProgressToken(message: Message, token: RawId): Message {
  const draft = new Draft(message.text);
  retokenProgress(message, draft, token);
  return redraw(draft);
}

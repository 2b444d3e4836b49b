import { Draft } from '../jsonrpc/draft.js';
import type { Member } from '../jsonrpc/json-scan.js';
import { type Message, type RawId, parseMessage } from '../jsonrpc/message.js';
import { retokenProgress } from '../translation/progress.js';

/** The message as edited. The text was valid before, so the limits were checked already. */
export function redraw(draft: Draft): Message {
  return parseMessage(draft.print(), { maxDepth: Number.MAX_SAFE_INTEGER, lenient: true });
}

/** A notification whose text was edited by other means than a draft. It has params. */
export function rewritten(original: Message, text: string): Message {
  return new Redrawn(original, text);
}

/** A progress notification under another token. */
export function withProgressToken(message: Message, token: RawId): Message {
  const draft = new Draft(message.text);
  retokenProgress(message, draft, token);
  return new Redrawn(message, draft.print());
}

/**
 * A notification whose text was edited. Where its members stand now is found out when somebody asks: most events only
 * need to be written, and scanning each twice would be half of their cost.
 */
class Redrawn implements Message {
  readonly kind: Message['kind'];
  readonly method: string;
  private scanned: Message | undefined;

  constructor(
    original: Message,
    readonly text: string,
  ) {
    this.kind = original.kind;
    this.method = original.method ?? '';
  }

  get root(): Message['root'] {
    return this.scan().root;
  }

  get params(): Member {
    const { params } = this.scan();
    if (params === undefined) throw new Error('an edited notification has params');
    return params;
  }

  private scan(): Message {
    this.scanned ??= parseMessage(this.text, { maxDepth: Number.MAX_SAFE_INTEGER, lenient: true });
    return this.scanned;
  }
}

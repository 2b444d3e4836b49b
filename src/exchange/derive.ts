import type { Message, RawId } from '../jsonrpc/message.js';
import type { Caller, ClientDescription, Era, Exchange } from './exchange.js';
import type { Answer, Question } from './question.js';
import { onAbort } from './on-abort.js';

type Changes = Partial<Omit<Exchange, 'progressToken'>>;

/** An exchange that differs from another in some members, and is the same in all others. */
export function deriveExchange(exchange: Exchange, changes: Changes): Exchange {
  return new DerivedExchange(exchange, changes);
}

/** A class and no object literal with a getter: every call across the eras makes some, and reads them often. */
class DerivedExchange implements Exchange {
  readonly era: Era;
  readonly message: Message;
  readonly method: string;
  readonly id: RawId;
  readonly client: ClientDescription;
  readonly caller: Caller;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;

  constructor(
    private readonly base: Exchange,
    private readonly changes: Changes,
  ) {
    this.era = changes.era ?? base.era;
    this.message = changes.message ?? base.message;
    this.method = changes.method ?? base.method;
    this.id = changes.id ?? base.id;
    this.client = changes.client ?? base.client;
    this.caller = changes.caller ?? base.caller;
    this.headers = changes.headers ?? base.headers;
    this.signal = changes.signal ?? base.signal;
  }

  /** Looked up, not copied: a call that outlives its first response goes on under the next request's token. */
  get progressToken(): RawId | undefined {
    return this.base.progressToken;
  }

  onCancel(listener: () => void): void {
    if (this.changes.signal === undefined) this.base.onCancel(listener);
    else onAbort(this.changes.signal, listener);
  }

  begin(): void {
    (this.changes.begin === undefined ? this.base : (this.changes as Exchange)).begin();
  }

  notify(message: Message): boolean {
    return (this.changes.notify === undefined ? this.base : (this.changes as Exchange)).notify(message);
  }

  onReady(listener: () => void): void {
    (this.changes.onReady === undefined ? this.base : (this.changes as Exchange)).onReady(listener);
  }

  ask(questions: readonly Question[], signal: AbortSignal): Promise<readonly Answer[]> {
    return (this.changes.ask === undefined ? this.base : (this.changes as Exchange)).ask(questions, signal);
  }
}

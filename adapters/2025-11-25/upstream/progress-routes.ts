import { LRUCache } from 'lru-cache';
import { keptText } from '../../../src/exchange/kept-text.js';
import { withProgressToken } from '../../../src/exchange/relabel.js';
import { kindOf, memberOf } from '../../../src/jsonrpc/json-scan.js';
import type { Message, RawId } from '../../../src/jsonrpc/message.js';
import { progressTokenOf } from '../../../src/translation/progress.js';

/** Tasks of one session whose progress is still told under the tokens of their clients, and how long those may be together. */
const MAX_TASKS = 1000;
const MAX_SIZE = 256 * 1024;

/** A call whose progress may come on another stream than its own. */
export interface ProgressSink {
  /** The token the upstream knows. */
  readonly token: RawId;
  progress(message: Message): void;
}

/**
 * Whose progress a notification tells, whatever stream it comes on: that of a call in flight, which some servers send on
 * the standalone stream, or that of a task, whose token outlives the call that began it.
 * @see /specification/2025-11-25/basic/utilities/progress#behavior-requirements
 */
export class ProgressRoutes {
  private readonly calls = new Map<RawId, ProgressSink>();
  /** Made for the first task: it takes its memory at once, and most sessions have none. */
  private tasks: LRUCache<RawId, RawId> | undefined;

  add(call: ProgressSink): void {
    this.calls.set(call.token, call);
  }

  /**
   * A call is over.
   * @param result its result, when it has one: one that begins a task keeps the token good
   * @param own the client's token
   */
  delete(call: ProgressSink, result?: Message, own?: RawId): void {
    this.calls.delete(call.token);
    const task = result && memberOf(result.result?.object, 'task');
    if (
      result !== undefined &&
      task !== undefined &&
      kindOf(result.text, task) === 'object' &&
      own !== undefined
    ) {
      this.tasks ??= new LRUCache<RawId, RawId>({
        max: MAX_TASKS,
        maxSize: MAX_SIZE,
        sizeCalculation: (own) => own.length,
      });
      this.tasks.set(call.token, keptText(own));
    }
  }

  /**
   * Hands progress to whom it belongs. Returns false when it is nobody's.
   * @param tell tells the client of the session, for a task whose call is over
   */
  deliver(message: Message, tell: (message: Message) => void): boolean {
    const token = progressTokenOf(message);
    if (token === undefined) return false;
    const call = this.calls.get(token);
    if (call !== undefined) {
      call.progress(message);
      return true;
    }
    const own = this.tasks?.get(token);
    if (own === undefined) return false;
    tell(withProgressToken(message, own));
    return true;
  }
}

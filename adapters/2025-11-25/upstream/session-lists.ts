import { type ListKind, changeOf, listOfMethod } from '../../../src/exchange/change-filter.js';
import type { Exchange } from '../../../src/exchange/exchange.js';
import { keptOutcomes } from '../../../src/exchange/kept-outcomes.js';
import { requestKey } from '../../../src/exchange/request-key.js';
import { offeredChanges } from '../offered-changes.js';
import type { CallEnd } from './call.js';
import type { UpstreamSession } from './session.js';

/** Requests that read, and leave the lists as they are. */
const READS: ReadonlySet<string> = new Set([
  'resources/templates/list',
  'resources/read',
  'prompts/get',
  'completion/complete',
]);

/** A change stream may have died without a sign, and then no change is told: so nothing is kept for longer, in ms. */
const MAX_AGE_MS = 60_000;

/** What happened on a session to its lists. */
interface History {
  readonly number: number;
  /** The lists whose changes this server tells. */
  readonly told: ReadonlySet<ListKind>;
  /** Counts what made each list stale. */
  readonly changes: Record<ListKind, number>;
}

/**
 * Lists of a legacy server, kept for clients without sessions of their own (X28): per upstream session, and only while
 * the stream is open that tells of their changes. Keys name the session, the connection of its stream and the changes
 * so far, so that whatever was fetched before a change, or while it happened, is never found again.
 * @see /specification/2025-11-25/server/tools#list-changed-notification
 */
export class SessionLists {
  private readonly entries = keptOutcomes(MAX_AGE_MS);
  private readonly histories = new WeakMap<UpstreamSession, History>();
  private sessions = 0;

  /** Answers from what is kept, or runs the request. */
  async serve(session: UpstreamSession, exchange: Exchange, run: () => Promise<CallEnd>): Promise<CallEnd> {
    const { method, message } = exchange;
    if (READS.has(method)) return run();
    const history = this.historyOf(session);
    const kind = listOfMethod(method);
    if (kind === undefined) {
      // A tool may change what its server offers, and the news of that comes by another connection than its result.
      forgetAll(history);
      return run().finally(() => forgetAll(history));
    }
    const connection = session.streamConnection;
    if (connection === undefined || !history.told.has(kind)) return run();
    const place = `${history.number} ${connection} ${history.changes[kind]}`;
    const key = `${place}\n${requestKey(message)}`;
    const kept = this.entries.get(key);
    if (kept !== undefined) return { kind: 'outcome', outcome: kept };
    const end = await run();
    if (end.kind === 'outcome' && end.outcome.kind === 'complete') this.entries.set(key, end.outcome);
    return end;
  }

  private historyOf(session: UpstreamSession): History {
    let history = this.histories.get(session);
    if (history === undefined) {
      const { changes } = (history = {
        number: this.sessions++,
        told: offeredChanges(session.initialize).lists,
        changes: { tools: 0, prompts: 0, resources: 0 },
      });
      session.watch({
        notification: (message) => {
          const change = changeOf(message);
          if (change !== undefined && 'list' in change) changes[change.list]++;
        },
      });
      this.histories.set(session, history);
    }
    return history;
  }
}

function forgetAll({ changes }: History): void {
  changes.tools++;
  changes.prompts++;
  changes.resources++;
}

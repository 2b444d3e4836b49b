import {
  type ChangeFilter,
  LIST_KINDS,
  NO_CHANGES,
  filterOf,
  wants,
} from '../../../src/exchange/change-filter.js';
import { possibleChanges } from '../../../src/exchange/listen-service.js';
import type { Watch } from '../../../src/exchange/exchange.js';
import type { Message } from '../../../src/jsonrpc/message.js';
import { offeredChanges } from '../offered-changes.js';
import type { SessionWatcher } from './session.js';
import type { Lease } from './session-pool.js';

/**
 * Watches a session for changes: its standalone stream carries them, and `resources/subscribe` asks for those of single
 * resources. Honoured is what the server advertises and its stream can bring.
 */
export class SessionWatch implements Watch, SessionWatcher {
  honoured = NO_CHANGES;
  /** What came before it was settled what is honoured. */
  private early: Message[] | undefined = [];
  private missed = false;
  private listener: (() => void) | undefined;
  private lost = false;
  private closed = false;

  private constructor(
    private readonly lease: Lease,
    private readonly onChange: (change: Message) => void,
  ) {}

  /** Resolves once it is settled what can arrive. @param lease given back when the watch is closed */
  static async open(
    lease: Lease,
    filter: ChangeFilter,
    onChange: (change: Message) => void,
  ): Promise<SessionWatch> {
    const { session } = lease;
    const watch = new SessionWatch(lease, onChange);
    // Listened for before the stream is there: its first bytes may bring a change.
    session.watch(watch);
    const offered = offeredChanges(session.initialize);
    const streaming = await session.openStream();
    const lists = LIST_KINDS.filter((kind) => streaming && filter.lists.has(kind) && offered.lists.has(kind));
    const wanted = streaming && offered.subscribe ? [...filter.uris] : [];
    const accepted = await Promise.all(wanted.map((uri) => session.subscriptions.join(uri)));
    watch.settle(
      filterOf(
        lists,
        wanted.filter((_, i) => accepted[i]),
      ),
    );
    return watch;
  }

  change(change: Message): void {
    if (this.early !== undefined) this.early.push(change);
    else if (wants(this.honoured, change)) this.onChange(change);
  }

  gap(): void {
    if (this.early !== undefined) this.missed = true;
    else for (const change of possibleChanges(this.honoured)) this.onChange(change);
  }

  over(): void {
    this.lost = true;
    this.listener?.();
  }

  onLost(listener: () => void): void {
    if (this.lost) listener();
    else this.listener = listener;
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.listener = undefined;
    const { session } = this.lease;
    session.unwatch(this);
    for (const uri of this.honoured.uris) session.subscriptions.leave(uri);
    this.lease.release();
  }

  private settle(honoured: ChangeFilter): void {
    this.honoured = honoured;
    const early = this.early ?? [];
    this.early = undefined;
    if (this.missed) this.gap();
    for (const change of early) this.change(change);
  }
}

import { now } from '../clock/clock.js';
import { GATEWAY_CODE, GatewayError } from '../errors/gateway-error.js';
import { Draft } from '../jsonrpc/draft.js';
import type { Message } from '../jsonrpc/message.js';
import type { Logger } from '../telemetry/logger.js';
import { stripReservedMeta } from '../translation/reserved-meta.js';
import { Backoff } from '../upstreams/backoff.js';
import {
  type ChangeFilter,
  LIST_KINDS,
  NO_CHANGES,
  changeOf,
  isNothing,
  isOf,
  isWithin,
} from './change-filter.js';
import { ChangeThrottle } from './change-throttle.js';
import type { Conversation, Introduction, UpstreamHalf, Watch } from './exchange.js';
import { possibleChanges } from './listen-service.js';
import { redraw } from './relabel.js';

/** Bursts of one change within this many milliseconds become two notifications at most. */
const THROTTLE_MS = 200;

/** A subscription that lasted this long, in milliseconds, is reason to try again soon when it breaks. */
const STABLE_MS = 30_000;

/**
 * One subscription to a modern upstream for all legacy sessions of one credential (X24): opened when first needed, opened
 * anew before the old one closes when more is wanted, re-opened when it breaks, and closed when nobody wants anything.
 */
export class SharedListen {
  /** Whoever is here, with the resources it wants to hear of, if any. */
  private readonly members = new Map<Conversation, Set<string> | undefined>();
  /** Who wants to hear of changed lists. */
  private readonly forLists = new Set<Conversation>();
  /** Who wants to hear of a resource. */
  private readonly byUri = new Map<string, Set<Conversation>>();
  private watch: Watch | undefined;
  private openedAt = 0;
  private covered = NO_CHANGES;
  /** What nobody watched since the last subscription broke: it may have changed, and is told when there is a new one. */
  private missed: ChangeFilter | undefined;
  /** Changes of the subscription follow one another. */
  private queue: Promise<unknown> = Promise.resolve();
  private introduction: Introduction;
  private closed = false;
  private readonly throttle = new ChangeThrottle(THROTTLE_MS, (change) => this.deliver(change));
  private readonly backoff = new Backoff(500, 30_000);
  private retryTimer: NodeJS.Timeout | undefined;

  constructor(
    introduction: Introduction,
    private readonly upstream: UpstreamHalf,
    private readonly log: Logger,
    private readonly observer: {
      /** The last session has left. */
      empty(): void;
      /** A change came in, before any session hears of it. */
      change(change: Message): void;
    },
  ) {
    this.introduction = introduction;
  }

  /** A session wants to hear of changed lists. */
  attach(from: Introduction, conversation: Conversation): void {
    this.introduction = from;
    this.join(conversation);
    this.forLists.add(conversation);
    // Thousands of sessions want the same, and what one of them costs must not depend on how many there are.
    if (this.watch !== undefined && this.covered.lists.size === LIST_KINDS.length) return;
    this.cover().catch((error: unknown) => this.failed(error));
  }

  /** A session wants to hear of a resource. @throws GatewayError the upstream does not honour it */
  async subscribe(from: Introduction, conversation: Conversation, uri: string): Promise<void> {
    this.introduction = from;
    this.join(conversation);
    const had = this.members.get(conversation)?.has(uri) === true;
    this.want(conversation, uri);
    try {
      const honoured = await this.cover(uri);
      if (!honoured.uris.has(uri)) {
        throw new GatewayError(
          -32602,
          `the server does not offer subscriptions to ${JSON.stringify(uri.slice(0, 200))}`,
          {
            status: 200,
          },
        );
      }
    } catch (error) {
      if (!had) this.unsubscribe(conversation, uri);
      throw error;
    }
  }

  unsubscribe(conversation: Conversation, uri: string): void {
    this.members.get(conversation)?.delete(uri);
    this.forget(conversation, uri);
    this.closeIfUnwanted();
  }

  /** The credential to go on with: a broken subscription that waits for its next attempt does not wait for a new one. */
  renew(from: Introduction): void {
    const changed = from.caller.authorization !== this.introduction.caller.authorization;
    this.introduction = from;
    if (changed && this.retryTimer !== undefined) this.reopen();
  }

  close(): void {
    this.closed = true;
    this.throttle.close();
    this.drop();
  }

  private drop(): void {
    clearTimeout(this.retryTimer);
    this.retryTimer = undefined;
    this.missed = undefined;
    this.covered = NO_CHANGES;
    const { watch } = this;
    this.watch = undefined;
    watch?.close();
  }

  private join(conversation: Conversation): void {
    if (this.members.has(conversation)) return;
    this.members.set(conversation, undefined);
    conversation.onEnd(() => this.leave(conversation));
  }

  private want(conversation: Conversation, uri: string): void {
    const own = this.members.get(conversation);
    if (own === undefined) this.members.set(conversation, new Set([uri]));
    else own.add(uri);
    const wanting = this.byUri.get(uri);
    if (wanting === undefined) this.byUri.set(uri, new Set([conversation]));
    else wanting.add(conversation);
  }

  private forget(conversation: Conversation, uri: string): void {
    const wanting = this.byUri.get(uri);
    wanting?.delete(conversation);
    if (wanting?.size === 0) this.byUri.delete(uri);
  }

  private leave(conversation: Conversation): void {
    for (const uri of this.members.get(conversation) ?? []) this.forget(conversation, uri);
    this.forLists.delete(conversation);
    this.members.delete(conversation);
    if (this.members.size > 0) {
      this.closeIfUnwanted();
      return;
    }
    this.close();
    this.observer.empty();
  }

  private closeIfUnwanted(): void {
    if (this.forLists.size === 0 && this.byUri.size === 0) this.drop();
  }

  /** What all members together want. */
  private wanted(): ChangeFilter {
    return { lists: new Set(this.forLists.size > 0 ? LIST_KINDS : []), uris: new Set(this.byUri.keys()) };
  }

  /**
   * Makes the subscription cover what is wanted; resolves with what the upstream honours.
   * @param uri asked for now: a refusal of before is no answer
   */
  private cover(uri?: string): Promise<ChangeFilter> {
    const step = this.queue.then(async () => {
      if (this.closed)
        throw new GatewayError(GATEWAY_CODE.sessionEnded, 'the session has ended', { status: 404 });
      const wanted = this.wanted();
      if (isNothing(wanted)) return NO_CHANGES;
      const { watch } = this;
      const answered = uri === undefined || watch?.honoured.uris.has(uri) === true;
      if (watch !== undefined && answered && isWithin(wanted, this.covered)) return watch.honoured;
      return this.open(wanted);
    });
    this.queue = step.catch(() => undefined);
    return step;
  }

  private async open(wanted: ChangeFilter): Promise<ChangeFilter> {
    const watch = await this.upstream.watch(this.introduction, wanted, (change) => {
      this.backoff.reset();
      this.take(change);
    });
    if (this.closed || isNothing(this.wanted())) {
      watch.close();
      return watch.honoured;
    }
    clearTimeout(this.retryTimer);
    this.retryTimer = undefined;
    const old = this.watch;
    this.watch = watch;
    this.covered = wanted;
    this.openedAt = now();
    old?.close();
    const { missed } = this;
    this.missed = undefined;
    if (missed !== undefined) for (const change of possibleChanges(missed)) this.take(change);
    watch.onLost(() => {
      if (this.watch === watch) this.onLost(watch);
    });
    return watch.honoured;
  }

  /** The upstream ended the stream: what changes until it is open again is told then. */
  private onLost(watch: Watch): void {
    this.watch = undefined;
    this.missed = watch.honoured;
    if (now() - this.openedAt > STABLE_MS) this.backoff.reset();
    this.reopenLater();
  }

  private reopenLater(): void {
    if (this.closed || this.retryTimer !== undefined) return;
    this.retryTimer = setTimeout(() => this.reopen(), this.backoff.next());
    this.retryTimer.unref();
  }

  private reopen(): void {
    clearTimeout(this.retryTimer);
    this.retryTimer = undefined;
    this.cover().catch((error: unknown) => this.failed(error));
  }

  private failed(error: unknown): void {
    const problem = error instanceof Error ? error.message : 'unknown';
    this.log.warn({ problem }, 'a subscription to changes could not be opened');
    // A server that refuses subscriptions from the first goes on refusing; one that had served one may again.
    if (this.watch === undefined && (this.missed !== undefined || mayPass(error))) this.reopenLater();
  }

  /** What was cached is stale before anybody can ask because of the notification. */
  private take(change: Message): void {
    this.observer.change(change);
    this.throttle.offer(change);
  }

  private deliver(change: Message): void {
    const draft = new Draft(change.text);
    stripReservedMeta(change, draft);
    const message = redraw(draft);
    for (const conversation of this.wanting(message)) conversation.notify(message);
  }

  private wanting(change: Message): Iterable<Conversation> {
    const what = changeOf(change);
    if (what === undefined) return [];
    if ('list' in what) return this.forLists;
    const names = [...this.byUri.keys()].filter((uri) => isOf(what.uri, uri));
    const [only] = names;
    if (only === undefined) return [];
    if (names.length === 1) return this.byUri.get(only) ?? [];
    // Who wants a whole and a part of it is told once.
    return new Set(names.flatMap((uri) => [...(this.byUri.get(uri) ?? [])]));
  }
}

/** Whether a failure may be gone at the next attempt: trouble on the way, load, or a credential that ran out. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return false;
  const { status } = error;
  return status === 401 || status === 408 || status === 429 || status >= 500;
}

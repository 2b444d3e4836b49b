import { GATEWAY_CODE, GatewayError } from '../errors/gateway-error.js';
import { Draft } from '../jsonrpc/draft.js';
import type { Message } from '../jsonrpc/message.js';
import type { Logger } from '../telemetry/logger.js';
import { stripReservedMeta } from '../translation/reserved-meta.js';
import { Backoff } from '../upstreams/backoff.js';
import { type ChangeFilter, LIST_KINDS, isWithin, wants } from './change-filter.js';
import { ChangeThrottle } from './change-throttle.js';
import type { Conversation, Introduction, UpstreamHalf, Watch } from './exchange.js';
import { possibleChanges } from './listen-service.js';
import { redraw } from './relabel.js';

/** Bursts of one change within this many milliseconds become two notifications at most. */
const THROTTLE_MS = 200;

interface Member {
  lists: boolean;
  readonly uris: Set<string>;
}

/**
 * One subscription to a modern upstream for all legacy sessions of one credential (X24): opened when first needed, opened
 * anew before the old one closes when more is wanted, re-opened when it breaks, and closed with the last session.
 */
export class SharedListen {
  private readonly members = new Map<Conversation, Member>();
  private watch: Watch | undefined;
  private covered: ChangeFilter = { lists: new Set(), uris: new Set() };
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
    this.memberOf(conversation).lists = true;
    this.cover().catch((error: unknown) => this.complain(error));
  }

  /** A session wants to hear of a resource. @throws GatewayError the upstream does not honour it */
  async subscribe(from: Introduction, conversation: Conversation, uri: string): Promise<void> {
    this.introduction = from;
    const member = this.memberOf(conversation);
    member.uris.add(uri);
    try {
      const honoured = await this.cover();
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
      member.uris.delete(uri);
      throw error;
    }
  }

  unsubscribe(conversation: Conversation, uri: string): void {
    this.members.get(conversation)?.uris.delete(uri);
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.retryTimer);
    this.throttle.close();
    this.watch?.close();
    this.watch = undefined;
  }

  private memberOf(conversation: Conversation): Member {
    let member = this.members.get(conversation);
    if (member === undefined) {
      member = { lists: false, uris: new Set() };
      this.members.set(conversation, member);
      conversation.ended.addEventListener('abort', () => this.leave(conversation), { once: true });
    }
    return member;
  }

  private leave(conversation: Conversation): void {
    this.members.delete(conversation);
    if (this.members.size > 0) return;
    this.close();
    this.observer.empty();
  }

  /** What all members together want. */
  private wanted(): ChangeFilter {
    const members = [...this.members.values()];
    const lists = members.some((member) => member.lists) ? LIST_KINDS : [];
    return { lists: new Set(lists), uris: new Set(members.flatMap((member) => [...member.uris])) };
  }

  /** Makes the subscription cover what is wanted; resolves with what the upstream honours. */
  private cover(): Promise<ChangeFilter> {
    const step = this.queue.then(async () => {
      if (this.closed)
        throw new GatewayError(GATEWAY_CODE.sessionEnded, 'the session has ended', { status: 404 });
      const wanted = this.wanted();
      if (this.watch !== undefined && isWithin(wanted, this.covered)) return this.watch.honoured;
      return this.open(wanted);
    });
    this.queue = step.catch(() => undefined);
    return step;
  }

  private async open(wanted: ChangeFilter): Promise<ChangeFilter> {
    const old = this.watch;
    const watch = await this.upstream.watch(this.introduction, wanted, (change) =>
      this.throttle.offer(change),
    );
    if (this.closed) {
      watch.close();
      return watch.honoured;
    }
    this.watch = watch;
    this.covered = wanted;
    old?.close();
    void watch.ended.then(() => {
      if (this.watch === watch) this.reopenLater(watch);
    });
    return watch.honoured;
  }

  /** The upstream ended the stream: what changes until it is open again is told then. */
  private reopenLater(lost: Watch): void {
    if (this.closed) return;
    this.watch = undefined;
    this.retryTimer = setTimeout(() => {
      this.cover().then(
        () => {
          this.backoff.reset();
          for (const change of possibleChanges(lost.honoured)) this.take(change);
        },
        (error: unknown) => {
          this.complain(error);
          this.reopenLater(lost);
        },
      );
    }, this.backoff.next());
    this.retryTimer.unref();
  }

  private take(change: Message): void {
    this.observer.change(change);
    this.throttle.offer(change);
  }

  private deliver(change: Message): void {
    const draft = new Draft(change.text);
    stripReservedMeta(change, draft);
    const message = redraw(draft);
    for (const [conversation, member] of this.members) {
      const lists = new Set(member.lists ? LIST_KINDS : []);
      if (wants({ lists, uris: member.uris }, message)) conversation.notify(message);
    }
  }

  private complain(error: unknown): void {
    const problem = error instanceof Error ? error.message : 'unknown';
    this.log.warn({ problem }, 'a subscription to changes could not be opened');
  }
}

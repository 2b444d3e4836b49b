import { GatewayError } from '../errors/gateway-error.js';
import { Draft } from '../jsonrpc/draft.js';
import { INVALID_PARAMS } from '../jsonrpc/error-code.js';
import { type Message, metaOf, parseMessage } from '../jsonrpc/message.js';
import { printNotification, printResult } from '../jsonrpc/print.js';
import { RESERVED_META } from '../translation/reserved-meta.js';
import { Backoff } from '../upstreams/backoff.js';
import {
  type ChangeFilter,
  filterProblem,
  isWithin,
  listChangedMethod,
  printFilter,
  readFilter,
} from './change-filter.js';
import type { Exchange, Introduction, UpstreamHalf, Watch } from './exchange.js';
import { type Outcome, cancelled, failure } from './outcome.js';
import { pause } from './pause.js';
import { rewritten } from './relabel.js';

/** How often a lost watch is opened again before the subscription is ended. */
const REOPENINGS = 5;

/**
 * Serves a modern client's `subscriptions/listen` over a watch of another era's server (X24): the acknowledgment first,
 * with what can really arrive; then changes, each tagged with the client's own id; a lost watch is opened again, and what
 * may have changed meanwhile is told. Watches coalesce bursts.
 * @see /specification/2026-07-28/basic/patterns/subscriptions
 */
export function serveListen(
  exchange: Exchange,
  introduction: Introduction,
  upstream: UpstreamHalf,
): Promise<Outcome> {
  const problem = filterProblem(exchange.message);
  if (problem !== undefined) {
    const error = new GatewayError(INVALID_PARAMS, `Invalid params: ${problem}`, { status: 400 });
    return Promise.resolve(failure(error));
  }
  return new Promise((resolve, reject) => {
    new Listening(exchange, introduction, upstream, resolve, reject).begin();
  });
}

/** One subscription. An object and no waiting function, because thousands of them wait for hours. */
class Listening {
  private readonly wanted: ChangeFilter;
  private acknowledged: ChangeFilter | undefined;
  private early: Message[] | undefined = [];
  private watch: Watch | undefined;
  private attempt = 0;
  private backoff: Backoff | undefined;
  /** Why the last attempt to open a lost watch again failed. */
  private lost: GatewayError | undefined;
  private over = false;

  constructor(
    private readonly exchange: Exchange,
    private readonly introduction: Introduction,
    private readonly upstream: UpstreamHalf,
    private readonly resolve: (outcome: Outcome) => void,
    private readonly reject: (error: unknown) => void,
  ) {
    this.wanted = readFilter(exchange.message);
  }

  begin(): void {
    this.exchange.onCancel(() => this.end(cancelled()));
    this.openNow();
  }

  private openNow(): void {
    this.open().catch((error: unknown) => {
      this.over = true;
      this.reject(error);
    });
  }

  private async open(): Promise<void> {
    for (; this.attempt <= REOPENINGS; this.attempt++) {
      let watch: Watch;
      try {
        watch = await this.upstream.watch(this.introduction, this.wanted, (change) => this.take(change));
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        if (this.acknowledged === undefined) this.end(failure(error));
        else {
          this.lost = error;
          await this.pause();
        }
        if (this.over) return;
        continue;
      }
      this.lost = undefined;
      if (this.over) {
        watch.close();
        return;
      }
      if (this.hold(watch)) return;
      // What was promised can no longer arrive: the client has to ask anew.
      watch.close();
      break;
    }
    // A graceful end would say that there is nothing more to hear; that nothing can be heard any more is an error.
    this.end(this.lost === undefined ? gracefulEnd(this.exchange) : failure(this.lost));
  }

  /** Goes on with a watch, unless it cannot bring what was promised. */
  private hold(watch: Watch): boolean {
    const { exchange, acknowledged } = this;
    if (acknowledged === undefined) {
      this.acknowledged = watch.honoured;
      exchange.notify(acknowledgment(exchange, watch.honoured));
      const early = this.early ?? [];
      this.early = undefined;
      for (const change of early) this.take(change);
    } else if (isWithin(acknowledged, watch.honoured)) {
      this.attempt = 0;
      for (const change of possibleChanges(acknowledged)) this.take(change);
    } else {
      return false;
    }
    this.watch = watch;
    watch.onLost(() => {
      this.watch = undefined;
      watch.close();
      void this.reopen();
    });
    return true;
  }

  private async reopen(): Promise<void> {
    await this.pause();
    this.attempt++;
    if (!this.over) this.openNow();
  }

  private async pause(): Promise<void> {
    this.backoff ??= new Backoff(250, 5000);
    await pause(this.backoff.next(), this.exchange.signal);
  }

  private take(change: Message): void {
    if (this.early !== undefined) this.early.push(change);
    else if (!this.over) this.exchange.notify(tagged(change, this.exchange));
  }

  private end(outcome: Outcome): void {
    if (this.over) return;
    this.over = true;
    this.watch?.close();
    this.watch = undefined;
    this.resolve(outcome);
  }
}

/** The result that ends a subscription properly. @see /specification/2026-07-28/basic/patterns/subscriptions#graceful-closure */
export function gracefulEnd(exchange: Exchange): Outcome {
  const result = `{"resultType":"complete","_meta":{${JSON.stringify(RESERVED_META.subscriptionId)}:${exchange.id}}}`;
  return { kind: 'complete', message: parseMessage(printResult('0', result), { maxDepth: 8 }) };
}

/** One notification for everything a filter wants: said when changes may have been missed. */
export function possibleChanges(filter: ChangeFilter): Message[] {
  const lists = [...filter.lists].map((kind) => printNotification(listChangedMethod(kind)));
  const uris = [...filter.uris].map((uri) =>
    printNotification('notifications/resources/updated', JSON.stringify({ uri })),
  );
  return [...lists, ...uris].map((text) => parseMessage(text, { maxDepth: 8 }));
}

function acknowledgment(exchange: Exchange, honoured: ChangeFilter): Message {
  const meta = `"_meta":{${JSON.stringify(RESERVED_META.subscriptionId)}:${exchange.id}}`;
  const params = `{${meta},"notifications":${printFilter(honoured)}}`;
  return parseMessage(printNotification('notifications/subscriptions/acknowledged', params), {
    maxDepth: 16,
  });
}

/** Stands for the id of a subscription: no valid message has a raw control character. */
const ID_PLACE = '"\u0000"';

/** A change as its subscribers are told it: what comes before and behind the id, once for all of them. */
const taggedParts = new WeakMap<Message, readonly string[]>();

/** The change under the client's own subscription id, with its own type. */
function tagged(change: Message, exchange: Exchange): Message {
  let parts = taggedParts.get(change);
  if (parts === undefined) {
    parts = tag(change).split(ID_PLACE);
    taggedParts.set(change, parts);
  }
  return rewritten(change, parts.join(exchange.id));
}

function tag(change: Message): string {
  const draft = new Draft(change.text);
  const key = RESERVED_META.subscriptionId;
  const meta = metaOf(change);
  const own = `{${JSON.stringify(key)}:${ID_PLACE}}`;
  if (meta !== undefined) draft.set(meta, key, ID_PLACE);
  else if (change.params?.object !== undefined) draft.set(change.params.object, '_meta', own);
  else draft.set(change.root, 'params', `{"_meta":${own}}`);
  return draft.print();
}

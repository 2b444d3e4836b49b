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
import { ChangeThrottle } from './change-throttle.js';
import type { Exchange, Introduction, UpstreamHalf, Watch } from './exchange.js';
import { type Outcome, cancelled, failure } from './outcome.js';
import { pause } from './pause.js';
import { redraw } from './relabel.js';

/** Bursts of one change within this many milliseconds become two notifications at most. */
const THROTTLE_MS = 200;

/** How often a lost watch is opened again before the subscription is ended. */
const REOPENINGS = 5;

/**
 * Serves a modern client's `subscriptions/listen` over a watch of another era's server (X24): the acknowledgment first,
 * with what can really arrive; then changes, each tagged with the client's own id; a lost watch is opened again, and what
 * may have changed meanwhile is told.
 * @see /specification/2026-07-28/basic/patterns/subscriptions
 */
export async function serveListen(
  exchange: Exchange,
  introduction: Introduction,
  upstream: UpstreamHalf,
): Promise<Outcome> {
  const problem = filterProblem(exchange.message);
  if (problem !== undefined)
    return failure(new GatewayError(INVALID_PARAMS, `Invalid params: ${problem}`, { status: 400 }));
  const wanted = readFilter(exchange.message);
  const throttle = new ChangeThrottle(THROTTLE_MS, (change) => exchange.notify(tagged(change, exchange)));
  let acknowledged: ChangeFilter | undefined;
  const early: Message[] = [];
  const onChange = (change: Message) => {
    if (acknowledged === undefined) early.push(change);
    else throttle.offer(change);
  };
  const backoff = new Backoff(250, 5000);
  let lost: GatewayError | undefined;
  try {
    for (let attempt = 0; attempt <= REOPENINGS; attempt++) {
      let watch: Watch;
      try {
        watch = await upstream.watch(introduction, wanted, onChange);
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        if (acknowledged === undefined) return failure(error);
        lost = error;
        await pause(backoff.next(), exchange.signal);
        if (exchange.signal.aborted) return cancelled();
        continue;
      }
      lost = undefined;
      if (acknowledged === undefined) {
        acknowledged = watch.honoured;
        exchange.notify(acknowledgment(exchange, watch.honoured));
        for (const change of early.splice(0)) throttle.offer(change);
      } else if (isWithin(acknowledged, watch.honoured)) {
        attempt = 0;
        for (const change of possibleChanges(acknowledged)) throttle.offer(change);
      } else {
        // What was promised can no longer arrive: the client has to ask anew.
        watch.close();
        break;
      }
      await endOf(watch, exchange.signal);
      watch.close();
      if (exchange.signal.aborted) return cancelled();
      await pause(backoff.next(), exchange.signal);
    }
    // A graceful end would say that there is nothing more to hear; that nothing can be heard any more is an error.
    return lost === undefined ? gracefulEnd(exchange) : failure(lost);
  } finally {
    throttle.close();
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

function endOf(watch: Watch, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
    void watch.ended.then(resolve);
  });
}

function acknowledgment(exchange: Exchange, honoured: ChangeFilter): Message {
  const meta = `"_meta":{${JSON.stringify(RESERVED_META.subscriptionId)}:${exchange.id}}`;
  const params = `{${meta},"notifications":${printFilter(honoured)}}`;
  return parseMessage(printNotification('notifications/subscriptions/acknowledged', params), {
    maxDepth: 16,
  });
}

/** The change under the client's own subscription id, with its own type. */
function tagged(change: Message, exchange: Exchange): Message {
  const draft = new Draft(change.text);
  const key = RESERVED_META.subscriptionId;
  const meta = metaOf(change);
  const tag = `{${JSON.stringify(key)}:${exchange.id}}`;
  if (meta !== undefined) draft.set(meta, key, exchange.id);
  else if (change.params?.object !== undefined) draft.set(change.params.object, '_meta', tag);
  else draft.set(change.root, 'params', `{"_meta":${tag}}`);
  return redraw(draft);
}

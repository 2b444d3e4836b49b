import type { UpstreamContext } from '../../adapter.js';
import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import type {
  Completions,
  Era,
  Exchange,
  Introduction,
  ServerDescription,
  UpstreamHalf,
  Watch,
} from '../../../src/exchange/exchange.js';
import type { ChangeFilter } from '../../../src/exchange/change-filter.js';
import { type Outcome, failure } from '../../../src/exchange/outcome.js';
import { introductionOf } from '../../../src/exchange/relay.js';
import type { Probe } from '../../../src/exchange/probe.js';
import { withIncreasingProgress } from '../../../src/exchange/increasing-progress.js';
import { isRepeatable } from '../../../src/exchange/repeatable.js';
import { Draft } from '../../../src/jsonrpc/draft.js';
import { memberOf, scanInnerObject } from '../../../src/jsonrpc/json-scan.js';
import { type Message, paramString } from '../../../src/jsonrpc/message.js';
import { type LogLevel, isLogLevel, moreTalkative } from '../../../src/translation/log-level.js';
import { stripReservedMeta } from '../../../src/translation/reserved-meta.js';
import { errorMessageIn, statusError, upstreamError } from '../../../src/upstreams/upstream-error.js';
import { type CallEnd, LegacyCall } from './call.js';
import { SessionLists } from './session-lists.js';
import { type Lease, SessionPool } from './session-pool.js';
import type { SessionWatcher, UpstreamSession } from './session.js';
import { SessionWatch } from './watch.js';

/** The gateway as a client of a legacy server. @see /specification/2025-11-25/basic/transports#streamable-http */
export class LegacyUpstream implements UpstreamHalf {
  readonly era: Era = 'legacy';
  private readonly pool: SessionPool;
  private readonly lists: SessionLists | undefined;

  constructor(private readonly context: UpstreamContext) {
    this.pool = new SessionPool(context);
    if (context.upstream.cache) this.lists = new SessionLists();
  }

  /** `initialize` is the probe: a server that accepts it is legacy, and the session is the introduced client's. */
  async probe(introduction: Introduction): Promise<Probe> {
    try {
      const lease = await this.pool.acquire(introduction);
      lease.release();
      return { kind: 'yes', evidence: `initialize was accepted, revision ${lease.session.revision}` };
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      if (error.status === 401 || error.status === 403) return { kind: 'refused', error };
      const silent = error.code <= GATEWAY_CODE.upstreamUnreachable && error.code >= GATEWAY_CODE.upstreamTls;
      return silent || error.status >= 500 || error.status === 429
        ? { kind: 'unknown', error }
        : { kind: 'no', evidence: `initialize was refused: ${error.message}` };
    }
  }

  async introduce(introduction: Introduction): Promise<ServerDescription> {
    const lease = await this.pool.acquire(introduction);
    lease.release();
    return { era: this.era, message: lease.session.initialize };
  }

  async run(request: Exchange): Promise<Outcome> {
    const exchange = isRepeatable(request.method) ? withIncreasingProgress(request) : request;
    let repeated = false;
    let reopened = false;
    for (;;) {
      let lease: Lease;
      try {
        lease = await this.pool.acquire(introductionOf(exchange));
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        return refusedOutcome(error);
      }
      const { session } = lease;
      try {
        if (session.beginning !== undefined) await session.beginning;
        const end = await this.call(session, exchange);
        if (end.kind === 'outcome') return end.outcome;
        if (end.kind === 'unknown') {
          if (repeated || !isRepeatable(exchange.method)) return end.outcome;
          repeated = true;
          continue;
        }
        void this.pool.drop(session, false);
        if (exchange.caller.conversation !== undefined) {
          exchange.caller.conversation.end('the upstream no longer knows this session');
          return failure(
            new GatewayError(GATEWAY_CODE.sessionEnded, 'the session has ended; initialize again', {
              status: 404,
            }),
          );
        }
        if (reopened) {
          return failure(
            new GatewayError(
              GATEWAY_CODE.upstreamProtocol,
              `the upstream ${this.context.name} forgets its sessions at once`,
              { status: 502 },
            ),
          );
        }
        reopened = true;
      } finally {
        lease.release();
      }
    }
  }

  private async call(session: UpstreamSession, exchange: Exchange): Promise<CallEnd> {
    const run = () => new LegacyCall(session, exchange).run();
    // A legacy client's requests reach its server as they are.
    if (session.conversation !== undefined) return run();
    await this.lowerLogLevel(session, exchange);
    return this.lists === undefined ? run() : this.lists.serve(session, exchange, run);
  }

  async notify(from: Introduction, message: Message): Promise<void> {
    const lease = await this.pool.acquire(from);
    try {
      const draft = new Draft(message.text);
      stripReservedMeta(message, draft);
      const posting = lease.session.post(draft.print(), from.caller);
      if (message.method === 'notifications/initialized') lease.session.begins(posting);
      const end = await posting;
      if (end.kind === 'failed') throw end.error;
      if (end.kind === 'status') {
        const answer = errorMessageIn(end.body, this.context.config.limits.jsonDepth);
        if (answer === undefined) throw statusError(end.head, this.context.name);
        const { code, text, data } = upstreamError(answer, end.head);
        throw new GatewayError(code, text, { status: end.head.status, ...(data !== undefined && { data }) });
      }
    } finally {
      lease.release();
    }
  }

  attach(from: Introduction): void {
    void this.pool.find(from)?.openStream();
  }

  async watch(from: Introduction, filter: ChangeFilter, onChange: (change: Message) => void): Promise<Watch> {
    const limit = this.context.config.limits.subscribedResources;
    if (filter.uris.size > limit) {
      // Each of them is a request to the upstream.
      throw new GatewayError(
        GATEWAY_CODE.overloaded,
        `a subscription may watch ${limit} resources (subscribedResources), not ${filter.uris.size}`,
        { status: 429 },
      );
    }
    for (let attempt = 0; ; attempt++) {
      const lease = await this.pool.acquire(from);
      const watch = await SessionWatch.open(lease, filter, onChange);
      // The upstream may have forgotten the session long before somebody wanted to watch it.
      if (!lease.session.ended || attempt > 0) return watch;
      watch.close();
    }
  }

  hearCompletions(from: Introduction, onComplete: (elicitationId: string) => void): Completions | undefined {
    const session = this.pool.find(from);
    if (session === undefined) return undefined;
    const watcher: SessionWatcher = {
      notification: (message) => {
        if (message.method !== 'notifications/elicitation/complete') return;
        const id = paramString(message, 'elicitationId');
        if (id !== undefined) onComplete(id);
      },
    };
    session.watch(watcher);
    return {
      get live() {
        return session.streaming;
      },
      stop: () => session.unwatch(watcher),
    };
  }

  async offersStream(from: Introduction): Promise<boolean> {
    const lease = await this.pool.acquire(from);
    try {
      return await lease.session.openStream();
    } finally {
      lease.release();
    }
  }

  async close(): Promise<void> {
    await this.pool.close();
  }

  /**
   * A session without a client of its own serves requests that each state their level; the upstream is asked for the
   * most talkative of them, and each request is sent only what it asked for.
   * @see /specification/2025-11-25/server/utilities/logging#setting-log-level
   */
  private async lowerLogLevel(session: UpstreamSession, exchange: Exchange): Promise<void> {
    const wanted = exchange.client.logLevel;
    if (!isLogLevel(wanted) || !offersLogging(session)) return;
    const current = session.logLevel as LogLevel | undefined;
    const next = current === undefined ? wanted : moreTalkative(current, wanted);
    if (next === current) return;
    session.logLevel = next;
    const params = JSON.stringify({ level: next });
    await session.request('logging/setLevel', params, exchange.caller);
  }
}

function offersLogging(session: UpstreamSession): boolean {
  const { text, result } = session.initialize;
  const capabilities = memberOf(result?.object, 'capabilities');
  if (capabilities === undefined) return false;
  return memberOf(scanInnerObject(text, capabilities.start), 'logging') !== undefined;
}

/** What `initialize` was refused with, as the outcome of the request that needed the session. */
function refusedOutcome(error: GatewayError): Outcome {
  const outcome = failure(error);
  // An answer to initialize in 4xx, or a JSON-RPC error to it, says that this is no legacy server after all.
  const contradicts =
    error.code > -32769 && error.code < -31999 && error.status !== 401 && error.status !== 403;
  return contradicts ? { ...outcome, contradiction: `initialize was refused: ${error.message}` } : outcome;
}

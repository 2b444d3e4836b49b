import { LRUCache } from 'lru-cache';
import type { UpstreamContext } from '../../adapter.js';
import { isModernRevision, LATEST_MODERN } from '../revisions.js';
import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import type {
  Era,
  Exchange,
  Introduction,
  ServerDescription,
  UpstreamHalf,
  Watch,
} from '../../../src/exchange/exchange.js';
import type { ChangeFilter } from '../../../src/exchange/change-filter.js';
import type { Outcome } from '../../../src/exchange/outcome.js';
import type { Probe } from '../../../src/exchange/probe.js';
import { withIncreasingProgress } from '../../../src/exchange/increasing-progress.js';
import { isRepeatable } from '../../../src/exchange/repeatable.js';
import { Draft } from '../../../src/jsonrpc/draft.js';
import { memberOf, valueText } from '../../../src/jsonrpc/json-scan.js';
import type { Message } from '../../../src/jsonrpc/message.js';
import { reservedMetaString, setRequestMeta } from '../../../src/translation/reserved-meta.js';
import { readResponse } from '../../../src/upstreams/response-reader.js';
import { statusError } from '../../../src/upstreams/upstream-error.js';
import { withTimeout } from '../../../src/upstreams/with-timeout.js';
import { ModernCall } from './call.js';
import { discover } from './discover.js';
import { requestHeaders } from './headers.js';
import { openWatch } from './watch.js';
import { isDiscoverResult, judgeError, supportedIn } from './era-evidence.js';

const UNSUPPORTED_VERSION = -32022;
const DISCOVER_CACHE_MS = 5000;
const DISCOVER_CACHE_MAX_MS = 3_600_000;

/** The gateway as a client of a modern server. @see /specification/2026-07-28/basic/transports/streamable-http */
export class ModernUpstream implements UpstreamHalf {
  readonly era: Era = 'modern';
  /** What the upstream said of itself, per credential. */
  private readonly descriptions = new LRUCache<string, Message>({ max: 1000 });
  private readonly asking = new Map<string, Promise<Message>>();

  constructor(private readonly context: UpstreamContext) {}

  /**
   * `server/discover` is the probe. The content decides, not the status: only a result that lists a revision both sides
   * know, or an error only a modern server sends, says modern.
   * @see /specification/2026-07-28/basic/transports/streamable-http#backward-compatibility
   */
  async probe(introduction: Introduction): Promise<Probe> {
    const { probeMs } = this.context.config.timeouts;
    let outcome = await discover(this.context, introduction, probeMs);
    if (
      outcome.kind === 'failed' &&
      outcome.code === UNSUPPORTED_VERSION &&
      supportedIn(outcome).some(isModernRevision)
    ) {
      // Some servers refuse the first request of a client they have not met, naming the very version it spoke.
      outcome = await discover(this.context, introduction, probeMs);
      if (outcome.kind === 'failed')
        return { kind: 'yes', evidence: 'UnsupportedProtocolVersion naming a modern version' };
    }
    if (outcome.kind === 'failed') return judgeError(outcome);
    const versions = isDiscoverResult(outcome.message);
    if (versions === undefined)
      return { kind: 'no', evidence: 'server/discover was answered with another result' };
    if (!versions.some(isModernRevision)) {
      return { kind: 'no', evidence: `server/discover lists only ${versions.join(', ').slice(0, 200)}` };
    }
    this.remember(introduction, outcome.message);
    return { kind: 'yes', evidence: `server/discover lists ${versions.join(', ').slice(0, 200)}` };
  }

  async introduce(introduction: Introduction): Promise<ServerDescription> {
    const key = introduction.caller.principal.key;
    const known = this.descriptions.get(key);
    if (known !== undefined) return { era: this.era, message: known };
    let asking = this.asking.get(key);
    if (asking === undefined) {
      asking = this.ask(introduction);
      this.asking.set(key, asking);
      const forget = () => this.asking.delete(key);
      asking.then(forget, forget);
    }
    return { era: this.era, message: await asking };
  }

  async run(request: Exchange): Promise<Outcome> {
    const exchange = isRepeatable(request.method) ? withIncreasingProgress(request) : request;
    const end = await new ModernCall(this.context, exchange, LATEST_MODERN).run();
    if (end.kind === 'unknown') {
      if (!isRepeatable(exchange.method) || exchange.signal.aborted) return end.outcome;
      return (await new ModernCall(this.context, exchange, LATEST_MODERN).run()).outcome;
    }
    const { outcome } = end;
    if (outcome.kind !== 'failed' || outcome.code !== UNSUPPORTED_VERSION) return outcome;
    const supported = supportedIn(outcome);
    if (!supported.some(isModernRevision)) {
      return { ...outcome, contradiction: 'the upstream supports no modern version' };
    }
    // A client that states its version itself negotiates itself; for others the gateway does, once.
    if (reservedMetaString(exchange.message, 'protocolVersion') !== undefined) return outcome;
    return (await new ModernCall(this.context, exchange, LATEST_MODERN).run()).outcome;
  }

  async notify(from: Introduction, message: Message): Promise<void> {
    const draft = new Draft(message.text);
    const stated = reservedMetaString(message, 'protocolVersion');
    if (stated === undefined && from.era !== this.era) {
      const { client } = from;
      setRequestMeta(message, draft, {
        protocolVersion: LATEST_MODERN,
        capabilities: client.capabilities,
        ...(client.clientInfo !== undefined && { clientInfo: client.clientInfo }),
      });
    }
    const headers = requestHeaders(this.context, from.caller, message, stated ?? LATEST_MODERN, from.headers);
    const reading = readResponse(
      this.context.http,
      { method: 'POST', headers, body: draft.print() },
      { onText: () => undefined },
      { maxBytes: this.context.config.limits.upstreamMessageBytes },
    );
    const end = await withTimeout(reading, this.context.config.timeouts.probeMs);
    if (end.kind === 'failed') throw end.error;
    if (end.kind === 'status') throw statusError(end.head, this.context.name);
  }

  attach(): void {
    // A modern server has no stream that belongs to no request; change notifications are subscribed to.
  }

  async watch(from: Introduction, filter: ChangeFilter, onChange: (change: Message) => void): Promise<Watch> {
    return openWatch(this.context, from, filter, onChange);
  }

  hearCompletions(): undefined {
    // A modern server is asked again; it has no notification to say that asking is worth while.
    return undefined;
  }

  offersStream(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async close(): Promise<void> {
    this.descriptions.clear();
    return Promise.resolve();
  }

  private async ask(introduction: Introduction): Promise<Message> {
    const outcome = await discover(this.context, introduction, this.context.config.timeouts.initializeMs);
    if (outcome.kind === 'failed') {
      throw new GatewayError(outcome.code, outcome.text, {
        status: outcome.status ?? 502,
        ...(outcome.data !== undefined && { data: outcome.data }),
        ...(outcome.headers !== undefined && { headers: outcome.headers }),
      });
    }
    if (isDiscoverResult(outcome.message) === undefined) {
      throw new GatewayError(
        GATEWAY_CODE.upstreamProtocol,
        `the upstream ${this.context.name} answered server/discover with another result`,
        { status: 502 },
      );
    }
    this.remember(introduction, outcome.message);
    return outcome.message;
  }

  private remember(introduction: Introduction, message: Message): void {
    const ttl = memberOf(message.result?.object, 'ttlMs');
    const stated = ttl === undefined ? 0 : Number(valueText(message.text, ttl));
    const ms = Number.isFinite(stated)
      ? Math.min(Math.max(stated, DISCOVER_CACHE_MS), DISCOVER_CACHE_MAX_MS)
      : DISCOVER_CACHE_MS;
    this.descriptions.set(introduction.caller.principal.key, message, { ttl: ms });
  }
}

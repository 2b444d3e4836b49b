import { memberOf, stringValue, valueText } from '../jsonrpc/json-scan.js';
import type { Message } from '../jsonrpc/message.js';
import { boundedKey } from './bounded-key.js';
import { type ListKind, listOfMethod } from './change-filter.js';
import type { Exchange } from './exchange.js';
import { keptOutcomes } from './kept-outcomes.js';
import type { Outcome } from './outcome.js';
import { requestKey } from './request-key.js';

const MAX_TTL_MS = 3_600_000;

/**
 * Lists a modern server declared fresh for a while (X28). A private one serves the credential and capabilities it was
 * fetched with; a public one everybody this upstream has accepted, as long as the request has nothing but a cursor.
 * What retries and questions produced never comes here: only lists do.
 * @see /specification/2026-07-28/server/utilities/caching
 */
export class ResponseCache {
  private readonly entries = keptOutcomes();
  /** Counts the changes of each kind: a fill that began before one is discarded. */
  private readonly changes: Record<ListKind, number> = { tools: 0, prompts: 0, resources: 0 };

  /** Answers from the cache, or runs the request and keeps its answer as long as the server allows. */
  async serve(exchange: Exchange, run: () => Promise<Outcome>): Promise<Outcome> {
    const kind = staleWith(exchange.method);
    const keys = kind && keysOf(exchange);
    if (kind === undefined || keys === undefined) return run();
    const cached =
      this.entries.get(keys.private) ??
      (keys.public === undefined ? undefined : this.entries.get(keys.public));
    if (cached !== undefined) return cached;
    const before = this.changes[kind];
    const outcome = await run();
    if (outcome.kind !== 'complete' || this.changes[kind] !== before) return outcome;
    const { ttl, shared } = hintsOf(outcome.message);
    const key = shared && keys.public !== undefined ? keys.public : keys.private;
    if (ttl > 0) this.entries.set(key, outcome, { ttl });
    return outcome;
  }

  /** A list changed: nothing fetched before may be served any more. */
  invalidate(kind: ListKind): void {
    this.changes[kind]++;
    for (const key of [...this.entries.keys()]) {
      if (staleWith(key.slice(0, key.indexOf('\n'))) === kind) this.entries.delete(key);
    }
  }
}

/** The change that makes the result of a cacheable method stale: that of templates has none of its own. */
function staleWith(method: string): ListKind | undefined {
  return method === 'resources/templates/list' ? 'resources' : listOfMethod(method);
}

/** Undefined when the request is one of a kind that must not be cached. */
function keysOf(exchange: Exchange): { private: string; public: string | undefined } | undefined {
  const { message, caller, client } = exchange;
  const members = (message.params?.object?.members ?? []).filter(({ key }) => key !== '_meta');
  if (members.some(({ key }) => key === 'inputResponses' || key === 'requestState')) return undefined;
  const request = requestKey(message);
  const plain = members.every(({ key }) => key === 'cursor');
  return {
    private: `${request}\n${caller.principal.key}\n${boundedKey(client.capabilities)}`,
    public: plain ? `${request}\n*` : undefined,
  };
}

function hintsOf(message: Message): { ttl: number; shared: boolean } {
  const result = message.result?.object;
  const member = memberOf(result, 'ttlMs');
  const ttl = member === undefined ? 0 : Number(valueText(message.text, member));
  return {
    ttl: Number.isFinite(ttl) ? Math.min(Math.max(0, Math.floor(ttl)), MAX_TTL_MS) : 0,
    shared: stringValue(message.text, memberOf(result, 'cacheScope')) === 'public',
  };
}

import { LRUCache } from 'lru-cache';
import type { Message } from '../jsonrpc/message.js';
import { parseMessage } from '../jsonrpc/message.js';
import { memberOf, stringValue } from '../jsonrpc/json-scan.js';
import { printRequest } from '../jsonrpc/print.js';
import { boundedKey } from './bounded-key.js';
import type { Exchange, UpstreamHalf } from './exchange.js';
import type { HeaderParam } from '../translation/x-mcp-header.js';

/** What must be known of a tool to call it across the eras. */
export interface ToolTraits {
  /** Its parameters that are mirrored into headers (X7). */
  readonly headers: readonly HeaderParam[];
  /** Its structured content is wrapped for legacy clients (X10). */
  readonly wrapped: boolean;
}

/** Reads the traits out of one page of a `tools/list` result. */
export type ReadTraits = (page: Message) => ReadonlyMap<string, ToolTraits>;

const CATALOG_TTL_MS = 60_000;
const MAX_PAGES = 100;

interface Catalog {
  readonly tools: Map<string, ToolTraits>;
  /** Every page was seen: a tool that is not here does not exist. */
  complete: boolean;
}

/**
 * The tools of one upstream as each caller was shown them. Filled from the lists that pass by, and fetched when a tool
 * is called before any list was asked for. A stale entry costs a refused call, which refreshes it.
 */
export class ToolCatalog {
  private readonly catalogs = new LRUCache<string, Catalog>({ max: 500, ttl: CATALOG_TTL_MS });
  private readonly fetching = new Map<string, Promise<Catalog>>();

  constructor(private readonly readTraits: ReadTraits) {}

  /** Takes note of a page that passes by. */
  learn(exchange: Exchange, page: Message): void {
    const key = keyOf(exchange);
    const first = memberOf(exchange.message.params?.object, 'cursor') === undefined;
    const catalog: Catalog = first
      ? { tools: new Map(), complete: false }
      : (this.catalogs.get(key) ?? { tools: new Map(), complete: false });
    this.add(catalog, page);
    if (cursorOf(page) === undefined && (first || this.catalogs.has(key))) catalog.complete = true;
    this.catalogs.set(key, catalog);
  }

  /** The traits of a tool, fetching the list when it is not known; undefined when the upstream has no such tool. */
  async find(exchange: Exchange, tool: string, upstream: UpstreamHalf): Promise<ToolTraits | undefined> {
    const known = this.catalogs.get(keyOf(exchange));
    const traits = known?.tools.get(tool);
    if (traits !== undefined || known?.complete === true) return traits;
    // The list is fetched for everybody who waits for it, so one of them who cancels leaves, and no more.
    const catalog = await Promise.race([this.fetch(exchange, upstream), aborted(exchange.signal)]);
    return catalog?.tools.get(tool);
  }

  /** What is known without asking. */
  peek(exchange: Exchange, tool: string): ToolTraits | undefined {
    return this.catalogs.get(keyOf(exchange))?.tools.get(tool);
  }

  /** Forgets what this caller was shown. */
  forget(exchange: Exchange): void {
    this.catalogs.delete(keyOf(exchange));
  }

  /** Forgets everything: the tools have changed. */
  clear(): void {
    this.catalogs.clear();
  }

  private async fetch(exchange: Exchange, upstream: UpstreamHalf): Promise<Catalog> {
    const key = keyOf(exchange);
    let fetching = this.fetching.get(key);
    if (fetching === undefined) {
      fetching = this.fetchAll(exchange, upstream);
      this.fetching.set(key, fetching);
      const forget = () => this.fetching.delete(key);
      fetching.then(forget, forget);
    }
    return fetching;
  }

  private async fetchAll(exchange: Exchange, upstream: UpstreamHalf): Promise<Catalog> {
    const catalog: Catalog = { tools: new Map(), complete: false };
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const outcome = await upstream.run(listExchange(exchange, cursor));
      // Without the list the call still goes through, as a client without it would send it.
      if (outcome.kind !== 'complete') return catalog;
      this.add(catalog, outcome.message);
      cursor = cursorOf(outcome.message);
      if (cursor === undefined) {
        catalog.complete = true;
        break;
      }
    }
    this.catalogs.set(keyOf(exchange), catalog);
    return catalog;
  }

  private add(catalog: Catalog, page: Message): void {
    for (const [name, traits] of this.readTraits(page)) catalog.tools.set(name, traits);
  }
}

/** Resolves when the signal is aborted. */
function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}

function keyOf(exchange: Exchange): string {
  return `${exchange.caller.principal.key} ${boundedKey(exchange.client.capabilities)}`;
}

function cursorOf(page: Message): string | undefined {
  return stringValue(page.text, memberOf(page.result?.object, 'nextCursor'));
}

/** A `tools/list` in the name of the exchange's caller, of which the caller hears nothing. */
function listExchange(exchange: Exchange, cursor: string | undefined): Exchange {
  const params = cursor === undefined ? '{}' : JSON.stringify({ cursor });
  const message = parseMessage(printRequest('0', 'tools/list', params), { maxDepth: 8 });
  const { era, client, caller, headers } = exchange;
  const { signal } = new AbortController();
  return {
    era,
    message,
    method: 'tools/list',
    id: '0',
    client,
    caller,
    headers,
    signal,
    onCancel: () => undefined,
    progressToken: undefined,
    begin: () => undefined,
    notify: () => true,
    onReady: (listener) => listener(),
    ask: () => Promise.resolve([]),
  };
}

import type { GatewayError } from '../errors/gateway-error.js';
import type { HttpOptions } from './options.js';
import { refusal } from './refusal.js';

/** The path of the default upstream; the others are below it by name. */
export const MCP_PATH = '/mcp';

/** How many paths an error lists; a gateway with hundreds of upstreams should not print them all. */
const LISTED = 20;

/** Which upstream is behind which path. */
export class Endpoints {
  readonly #names: ReadonlyMap<string, string>;
  readonly #byPath = new Map<string, string>();

  constructor(options: Pick<HttpOptions, 'upstreamNames' | 'defaultUpstream' | 'aliases'>) {
    this.#names = new Map(options.upstreamNames.map((name) => [name.toLowerCase(), name]));
    if (options.defaultUpstream !== undefined) this.#byPath.set(MCP_PATH, options.defaultUpstream);
    for (const [path, name] of Object.entries(options.aliases)) {
      // An upstream may be called like the endpoint itself; its alias must not take the place of the default.
      if (!this.#byPath.has(plain(path))) this.#byPath.set(plain(path), name);
    }
  }

  /** The upstream of that name, in the spelling of the configuration. @throws GatewayError 404 */
  named(name: string): string {
    const known = this.#names.get(name.toLowerCase());
    if (known !== undefined) return known;
    const shown = JSON.stringify(name.slice(0, 100));
    throw refusal(404, `There is no upstream named ${shown}. ${this.#list()}`);
  }

  /** The upstream behind `/mcp`. @throws GatewayError 404 when none is the default */
  get standard(): string {
    const name = this.#byPath.get(MCP_PATH);
    if (name === undefined) throw refusal(404, `No upstream is the default one. ${this.#list()}`);
    return name;
  }

  /** The upstream behind a path, or undefined. A slash at the end makes no difference. */
  at(path: string): string | undefined {
    const key = plain(path);
    const exact = this.#byPath.get(key);
    if (exact !== undefined) return exact;
    return key.startsWith(`${MCP_PATH}/`) ? this.#names.get(key.slice(MCP_PATH.length + 1)) : undefined;
  }

  /** What a request for any other path is told. */
  notFound(): GatewayError {
    return refusal(404, `There is nothing at this path. ${this.#list()}`);
  }

  #list(): string {
    const paths = [...this.#byPath.keys(), ...[...this.#names.values()].map((name) => `${MCP_PATH}/${name}`)];
    const more = paths.length > LISTED ? ', …' : '';
    return `The MCP endpoints are ${paths.slice(0, LISTED).join(', ')}${more}.`;
  }
}

/** Proxies and people keep neither letter case nor slashes at the end apart. */
function plain(path: string): string {
  return path.toLowerCase().replace(/\/+$/, '') || '/';
}

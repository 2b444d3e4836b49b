export interface RunningGateway {
  /** The gateway's MCP endpoint, e.g. `http://127.0.0.1:1234/mcp`. */
  readonly url: string;
  readonly port: number;
  /** What is believed of an upstream's era; undefined while nobody has asked. */
  verdict(upstream: string): { readonly era: 'legacy' | 'modern'; readonly evidence: string } | undefined;
  /** What is under way just now. */
  activity(): {
    readonly sessions: number;
    readonly parked: number;
    readonly questions: number;
    readonly upstreamRequests: number;
  };
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/**
 * Starts the gateway on a free loopback port in front of one upstream. Everything under `test/` that needs a
 * gateway gets it here, so that a change of its public API touches one place.
 *
 * @param overrides members of the user configuration besides `listen` and `upstreams`
 * @param upstream members of the upstream's configuration besides `url`
 */
export async function startGateway(
  upstreamUrl: string,
  overrides: Record<string, unknown> = {},
  upstream: Record<string, unknown> = {},
): Promise<RunningGateway> {
  const gateway = await loadGateway();
  return gateway.createGateway({
    logging: { level: 'silent' },
    ...overrides,
    listen: { host: '127.0.0.1', port: 0 },
    upstreams: { default: { ...upstream, url: upstreamUrl } },
  });
}

interface GatewayModule {
  createGateway(config: Record<string, unknown>): Promise<RunningGateway>;
}

/** Loaded late, so that tests of the peers alone run without the gateway. */
async function loadGateway(): Promise<GatewayModule> {
  const specifier = new URL('../../src/gateway.js', import.meta.url).href;
  return (await import(specifier)) as GatewayModule;
}

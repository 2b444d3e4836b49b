export interface RunningGateway {
  /** The gateway's MCP endpoint, e.g. `http://127.0.0.1:1234/mcp`. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts the gateway on a free loopback port in front of one upstream. Everything under `test/` that needs a
 * gateway gets it here, so that a change of its public API touches one place.
 *
 * @param overrides members of the user configuration besides `listen` and `upstreams`
 */
export async function startGateway(
  upstreamUrl: string,
  overrides: Record<string, unknown> = {},
): Promise<RunningGateway> {
  const gateway = await loadGateway();
  return gateway.createGateway({
    ...overrides,
    listen: { host: '127.0.0.1', port: 0 },
    upstreams: { default: { url: upstreamUrl } },
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

import { randomBytes } from 'node:crypto';
import {
  DEMO_SERVERS,
  Endpoint,
  LATEST_MODERN,
  SERVED_REVISIONS,
  createUpstreamHalves,
  legacyFeatures,
} from '../adapters/registry.js';
import { ChallengeReply } from './auth/challenge-reply.js';
import { principalOfHeaders } from './auth/principal.js';
import { ProtectedResource } from './auth/protected-resource.js';
import { callTimeouts } from './config/call-timeouts.js';
import {
  type GatewayConfig,
  type GatewayOptions,
  type UpstreamConfig,
  parseConfig,
} from './config/config.js';
import { authorizationFor } from './auth/upstream-authorization.js';
import { type DemoUpstreams, startBoth } from './demo/upstreams.js';
import { Cluster } from './cluster/cluster.js';
import { RedisLink } from './cluster/redis-link.js';
import { LegacyClientBridge } from './exchange/legacy-client-bridge.js';
import { ModernClientBridge } from './exchange/modern-client-bridge.js';
import type { Activity } from './exchange/activity.js';
import type { Era, Introduction, UpstreamHalf } from './exchange/exchange.js';
import { ResponseCache } from './exchange/response-cache.js';
import { UpstreamRelay } from './exchange/relay.js';
import { createHttpApp } from './http/app.js';
import { MCP_PATH } from './http/endpoints.js';
import { METADATA_PATH } from './http/metadata-endpoint.js';
import type { HttpReply, HttpRequest } from './http/port.js';
import { listen } from './http/server.js';
import { openStore } from './replay/open-store.js';
import { StoreError } from './replay/store.js';
import { createLog } from './telemetry/log.js';
import type { Logger } from './telemetry/logger.js';
import { EraResolver, type EraVerdict } from './upstreams/era-resolver.js';
import { inspect } from './upstreams/inspection.js';
import type { UpstreamReport } from './upstreams/report.js';
import { UpstreamHttp } from './upstreams/upstream-http.js';

export { ConfigError } from './config/config-error.js';
export { StoreError };
export type { DemoUpstreams, EraVerdict, GatewayConfig, GatewayOptions, UpstreamConfig, UpstreamReport };

/** What is under way in a gateway. */
export interface GatewayActivity extends Activity {
  /** Requests to upstreams, open streams included. */
  readonly upstreamRequests: number;
}

/** A running gateway. */
export interface Gateway {
  /** URL of the endpoint of the default upstream, such as `http://127.0.0.1:8808/mcp`. */
  readonly url: string;
  readonly port: number;
  /** What is believed of an upstream's era; undefined while nobody has asked. */
  verdict(upstream: string): EraVerdict | undefined;
  /** What is under way just now. */
  activity(): GatewayActivity;
  /** Stops taking requests, waits up to `graceMs` milliseconds for those in progress, then ends everything. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** One upstream with everything that belongs to it. */
export interface UpstreamParts {
  readonly halves: Readonly<Record<Era, UpstreamHalf>>;
  readonly eras: EraResolver;
  readonly relay: UpstreamRelay;
  readonly resource: ProtectedResource;
  /** The reply as this upstream's kind of authorization wants it. */
  reply(inner: HttpReply): HttpReply;
  /** Requests to the upstream under way, open streams included. */
  readonly inFlight: number;
  close(): Promise<void>;
}

/** Puts one upstream together. */
export function createUpstream(name: string, config: GatewayConfig, log: Logger): UpstreamParts {
  const upstream = config.upstreams[name];
  if (upstream === undefined) throw new Error(`no upstream named ${name}`);
  const http = new UpstreamHttp({
    url: upstream.url,
    headers: upstream.headers,
    connectMs: config.timeouts.connectMs,
    tls: upstream.tls,
  });
  const context = { config, log, servedRevisions: SERVED_REVISIONS, instance: '', name, upstream, http };
  const halves = createUpstreamHalves(context);
  const rounds = { rounds: config.limits.rounds, maxMs: callTimeouts(config, upstream).callMaxMs };
  const bridges = {
    legacy: new LegacyClientBridge(
      name,
      legacyFeatures,
      rounds,
      log,
      upstream.cache ? new ResponseCache() : undefined,
    ),
    modern: new ModernClientBridge(name, SERVED_REVISIONS, rounds, log),
  };
  const translate = (introduction: Introduction, era: Era): Introduction =>
    introduction.era === era ? introduction : bridges[introduction.era].introduction(introduction);
  const eras = new EraResolver(halves, translate, {
    name,
    pin: upstream.era,
    ttlMs: config.timeouts.eraTtlMs,
    retryMs: config.timeouts.eraRetryMs,
    log,
    sendsCredential: ({ caller }) => authorizationFor(upstream, caller) !== undefined,
  });
  const own = ownUrls(name, config);
  const isStatic = upstream.authorization.mode === 'static';
  return {
    halves,
    eras,
    relay: new UpstreamRelay(name, halves, eras, bridges, upstream.maxCalls, config.limits.retryAfterSeconds),
    resource: new ProtectedResource(http, own?.resource),
    reply: (inner) =>
      isStatic || own !== undefined ? new ChallengeReply(inner, own?.metadata, isStatic) : inner,
    get inFlight() {
      return http.inFlight;
    },
    close: async () => {
      await Promise.all([halves.legacy.close(), halves.modern.close()]);
      await http.close();
    },
  };
}

/** The gateway's URL for an upstream and for its metadata, when it was told its public URL. */
function ownUrls(name: string, config: GatewayConfig): { resource: string; metadata: string } | undefined {
  if (config.publicUrl === undefined) return undefined;
  const base = new URL(config.publicUrl);
  const path = name === config.defaultUpstream ? MCP_PATH : `${MCP_PATH}/${name}`;
  return {
    resource: new URL(path, base.origin).href,
    metadata: new URL(METADATA_PATH + path, base.origin).href,
  };
}

/**
 * Starts a gateway.
 * @param options the configuration, partial or resolved; see docs/configuration.md
 * @throws ConfigError the configuration is not valid; Error of the system when the address cannot be listened on
 */
export async function createGateway(options: GatewayOptions | GatewayConfig): Promise<Gateway> {
  const config = parseConfig(options);
  const log = createLog(config.logging.level);
  const upstreams = new Map<string, UpstreamParts>();
  for (const name of Object.keys(config.upstreams)) upstreams.set(name, createUpstream(name, config, log));
  const instance = randomBytes(9).toString('base64url');
  const store = await openStore(config, instance, log);
  const endpoint = new Endpoint({ config, log, servedRevisions: SERVED_REVISIONS, instance, store });
  const serve = async (name: string, request: HttpRequest, reply: HttpReply) => {
    const parts = upstreams.get(name);
    if (parts === undefined) throw new Error(`no upstream named ${name}`);
    await endpoint.serve(request, parts.reply(reply), parts.relay);
  };
  if (config.cluster !== undefined) {
    const { url, prefix } = config.cluster;
    endpoint.cluster = new Cluster(
      instance,
      await RedisLink.connect({ url, prefix, instance, log }).catch(async (error: unknown) => {
        await store.close();
        throw error;
      }),
      serve,
      log,
    );
  }
  const names = [...upstreams.keys()];
  const app = createHttpApp({
    listen: config.listen,
    allowedHosts: config.allowedHosts,
    allowedOrigins: config.allowedOrigins,
    limits: config.limits,
    timeouts: config.timeouts,
    upstreamNames: names,
    ...(config.defaultUpstream !== undefined && { defaultUpstream: config.defaultUpstream }),
    aliases: Object.fromEntries(names.map((name) => [`/${name}`, name])),
    log,
    principalKey: (head) => {
      const principal = principalOfHeaders(head.headers);
      return principal.anonymous ? undefined : principal.key;
    },
    serve,
    // The header is as good as the body here: a request whose header says something else than its body is refused.
    opensStream: ({ method, headers }) =>
      method === 'GET' || headers['mcp-method'] === 'subscriptions/listen',
    protectedResource: (name) => {
      const parts = upstreams.get(name);
      if (parts === undefined) throw new Error(`no upstream named ${name}`);
      return parts.resource.read();
    },
  });
  const server = await listen(app, config.listen).catch(async (error: unknown) => {
    await endpoint.close();
    await store.close();
    throw error;
  });
  return {
    url: `${server.url}/mcp`,
    port: server.port,
    verdict: (name) => upstreams.get(name)?.eras.verdict,
    activity: () => {
      let upstreamRequests = 0;
      for (const parts of upstreams.values()) upstreamRequests += parts.inFlight;
      return { ...endpoint.activity(), upstreamRequests };
    },
    close: async ({ graceMs = 0 } = {}) => {
      // The server ends long streams at once; these have a result to end with.
      endpoint.endSubscriptions();
      await server.close({ graceMs, lastWords: () => endpoint.close() });
      await endpoint.cluster?.close();
      await Promise.all([...upstreams.values()].map((parts) => parts.close()));
      await store.close();
    },
  };
}

/** Starts a small server of each era on loopback, for people who have none at hand. */
export function startDemoUpstreams(): Promise<DemoUpstreams> {
  return startBoth(DEMO_SERVERS);
}

/**
 * Looks at a server once: which era it speaks, by what evidence, and what it offers. What goes wrong is in the report.
 * @param upstream one entry of a resolved configuration's `upstreams`
 */
export async function inspectUpstream(upstream: UpstreamConfig): Promise<UpstreamReport> {
  // Errors name the upstream, and here nobody gave it a name.
  const name = new URL(upstream.url).host;
  const parts = createUpstream(
    name,
    { ...parseConfig({}), upstreams: { [name]: upstream } },
    createLog('silent'),
  );
  try {
    return await inspect({
      config: upstream,
      eras: parts.eras,
      relay: parts.relay,
      legacy: parts.halves.legacy,
      servedRevisions: SERVED_REVISIONS,
      revision: LATEST_MODERN,
    });
  } finally {
    await parts.close();
  }
}

import { principalOf } from '../auth/principal.js';
import type { UpstreamConfig } from '../config/config.js';
import { GATEWAY_CODE, GatewayError } from '../errors/gateway-error.js';
import type { Introduction, Relay, ServerDescription, UpstreamHalf } from '../exchange/exchange.js';
import { memberOf, valueText } from '../jsonrpc/json-scan.js';
import { IMPLEMENTATION } from '../telemetry/implementation.js';
import { serverInfoOf } from '../translation/server-description.js';
import type { EraResolver } from './era-resolver.js';
import type { UpstreamReport } from './report.js';

/** The parts of an upstream a look at it needs. */
export interface InspectedUpstream {
  readonly config: UpstreamConfig;
  readonly eras: EraResolver;
  readonly relay: Relay;
  readonly legacy: UpstreamHalf;
  /** The revisions the gateway serves, modern ones first. */
  readonly servedRevisions: readonly string[];
  /** The modern revision to introduce the gateway in. */
  readonly revision: string;
}

/**
 * Introduces the gateway itself to an upstream and reports what came of it. Never throws for what the upstream does:
 * that is what the report is for.
 */
export async function inspect(upstream: InspectedUpstream): Promise<UpstreamReport> {
  const { config, eras, relay, servedRevisions } = upstream;
  const introduction = introductionFor(upstream);
  const report: UpstreamReport = { url: config.url, era: 'unknown', evidence: [], versions: [] };
  try {
    const description = await relay.introduce(introduction);
    const { era } = description;
    Object.assign(report, {
      era,
      evidence: [...(eras.verdict?.evidence ?? [])],
      ...describe(description, servedRevisions),
    });
    if (era === 'legacy') {
      const offers = await upstream.legacy.offersStream(introduction);
      if (offers !== undefined) report.offersGetStream = offers;
    }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { verdict } = eras;
    // A pin is the operator's word, not something the upstream was seen to do.
    if (verdict !== undefined && config.era === 'auto')
      Object.assign(report, { era: verdict.era, evidence: [...verdict.evidence] });
    report.error = { code: codeWord(error.code), message: error.message };
  }
  return report;
}

function introductionFor({ config, revision }: InspectedUpstream): Introduction {
  const { authorization } = config;
  const header = authorization.mode === 'static' ? authorization.header : undefined;
  return {
    era: 'modern',
    client: { revision, clientInfo: JSON.stringify(IMPLEMENTATION), capabilities: '{}' },
    caller: {
      principal: principalOf(header),
      remoteAddress: '127.0.0.1',
      ...(header !== undefined && { authorization: header }),
    },
    headers: {},
  };
}

function describe(
  description: ServerDescription,
  servedRevisions: readonly string[],
): Pick<UpstreamReport, 'versions' | 'serverInfo' | 'capabilities'> {
  const { message, era } = description;
  const result = message.result === undefined ? '{}' : valueText(message.text, message.result);
  const { supportedVersions, protocolVersion, capabilities } = JSON.parse(result) as Record<string, unknown>;
  const named: unknown[] =
    era === 'modern' && Array.isArray(supportedVersions) ? supportedVersions : [protocolVersion];
  const info = JSON.parse(serverInfoOf(message) ?? '{}') as Record<string, unknown>;
  const { name, version } = info;
  return {
    versions: servedRevisions.filter((revision) => named.includes(revision)),
    ...(typeof name === 'string' && {
      serverInfo: { name, version: typeof version === 'string' ? version : 'without a version' },
    }),
    ...(memberOf(message.result?.object, 'capabilities') !== undefined &&
      typeof capabilities === 'object' &&
      capabilities !== null && { capabilities: capabilities as Record<string, unknown> }),
  };
}

/** The gateway's own codes by their names, which are stable; an upstream's code as it is. */
function codeWord(code: number): string | number {
  return Object.entries(GATEWAY_CODE).find(([, value]) => value === code)?.[0] ?? code;
}

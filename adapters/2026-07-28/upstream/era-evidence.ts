import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import type { FailedOutcome } from '../../../src/exchange/outcome.js';
import type { Probe } from '../../../src/exchange/probe.js';
import {
  kindOf,
  memberOf,
  scanInnerArray,
  scanInnerObject,
  stringValue,
} from '../../../src/jsonrpc/json-scan.js';
import type { Message } from '../../../src/jsonrpc/message.js';
import { isModernRevision } from '../revisions.js';

const HEADER_MISMATCH = -32020;
const MISSING_CAPABILITY = -32021;
const UNSUPPORTED_VERSION = -32022;

/** The versions a DiscoverResult lists; undefined when the result is no DiscoverResult. */
export function isDiscoverResult(message: Message): string[] | undefined {
  const result = message.result?.object;
  const versions = memberOf(result, 'supportedVersions');
  const capabilities = memberOf(result, 'capabilities');
  if (versions === undefined || kindOf(message.text, versions) !== 'array') return undefined;
  if (capabilities === undefined || kindOf(message.text, capabilities) !== 'object') return undefined;
  return strings(message.text, versions.start);
}

/** The versions an UnsupportedProtocolVersionError lists. */
export function supportedIn(outcome: FailedOutcome): string[] {
  const { data } = outcome;
  if (data === undefined || !data.startsWith('{')) return [];
  let supported;
  try {
    supported = memberOf(scanInnerObject(data, 0), 'supported');
  } catch {
    return [];
  }
  return supported !== undefined && kindOf(data, supported) === 'array' ? strings(data, supported.start) : [];
}

/** What a failed `server/discover` says of the upstream's era. */
export function judgeError(outcome: FailedOutcome): Probe {
  const error = new GatewayError(outcome.code, outcome.text, {
    status: outcome.status ?? 502,
    ...(outcome.data !== undefined && { data: outcome.data }),
    ...(outcome.headers !== undefined && { headers: outcome.headers }),
  });
  const { status } = outcome;
  if (status === 401 || status === 403) return { kind: 'refused', error };
  if (outcome.origin === 'upstream') {
    if (outcome.code === UNSUPPORTED_VERSION) {
      const supported = supportedIn(outcome);
      return supported.some(isModernRevision)
        ? { kind: 'yes', evidence: `UnsupportedProtocolVersion naming ${supported.join(', ').slice(0, 200)}` }
        : {
            kind: 'no',
            evidence: `UnsupportedProtocolVersion naming only ${supported.join(', ').slice(0, 200)}`,
          };
    }
    if (outcome.code === HEADER_MISMATCH || outcome.code === MISSING_CAPABILITY) {
      return { kind: 'yes', evidence: `server/discover was refused with the modern error ${outcome.code}` };
    }
  }
  if (status === 429 || (status !== undefined && status >= 500 && outcome.origin === 'upstream')) {
    return { kind: 'unknown', error };
  }
  // A body that is no MCP answers neither yes nor no when it came with a status that says success or failure of the host.
  const unreachable =
    outcome.origin === 'gateway' &&
    outcome.code !== GATEWAY_CODE.upstreamStatus &&
    outcome.code !== GATEWAY_CODE.upstreamProtocol;
  if (unreachable) return { kind: 'unknown', error };
  const upstreamStatus = outcome.contradiction !== undefined;
  if (outcome.code === GATEWAY_CODE.upstreamStatus && !upstreamStatus) return { kind: 'unknown', error };
  return { kind: 'no', evidence: `server/discover was answered with: ${outcome.text.slice(0, 200)}` };
}

function strings(text: string, start: number): string[] {
  return scanInnerArray(text, start).flatMap((span) => stringValue(text, span) ?? []);
}

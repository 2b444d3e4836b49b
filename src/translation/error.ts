/**
 * Error codes whose meaning changed between the eras (X12, X13).
 * @see /specification/2026-07-28/basic#error-codes and /specification/2026-07-28/server/resources#error-handling
 */
import { INTERNAL_ERROR, INVALID_PARAMS } from '../jsonrpc/error-code.js';
import { kindOf, memberOf, scanInnerArray, scanInnerObject, stringValue } from '../jsonrpc/json-scan.js';

/** The modern era's own codes. */
export const HEADER_MISMATCH = -32020;
export const MISSING_CLIENT_CAPABILITY = -32021;
export const UNSUPPORTED_PROTOCOL_VERSION = -32022;
/** Legacy: the resource of a `resources/read` does not exist; elsewhere servers use it for "not initialised". */
export const LEGACY_RESOURCE_NOT_FOUND = -32002;
/** Legacy: the call needs a URL elicitation first. */
export const LEGACY_URL_ELICITATION_REQUIRED = -32042;

/** A JSON-RPC error; `data` is JSON text. */
export interface ErrorParts {
  readonly code: number;
  readonly text: string;
  readonly data?: string;
}

/** The modern specification owns this range; in the legacy era anything may stand there. */
function isSpecificationRange(code: number): boolean {
  return code <= -32020 && code >= -32099;
}

/**
 * X12, X13: an upstream's modern error for a legacy client. Codes of the modern specification become `-32603`:
 * a legacy client cannot act on them, and some (`-32042`) would mean something else to it. The message says
 * what is missing, for whoever reads it; the original stands in `data.upstreamError`.
 */
export function modernErrorToLegacy(
  code: number,
  text: string,
  data: string | undefined,
  method: string,
): ErrorParts {
  if (code === INVALID_PARAMS && method === 'resources/read' && hasUri(data)) {
    return parts(LEGACY_RESOURCE_NOT_FOUND, text, data);
  }
  if (!isSpecificationRange(code)) return parts(code, text, data);
  return parts(INTERNAL_ERROR, explain(code, text, data), original(code, text, data));
}

/**
 * X12, X13: an upstream's legacy error for a modern client. `-32002` is "not found" on `resources/read` only;
 * elsewhere, and for every code in the range the modern specification reserves, the client gets `-32603` with
 * the original in `data.upstreamError`, because modern peers must not emit such codes. `-32042` should have
 * been turned into a question before it comes here (X18).
 */
export function legacyErrorToModern(
  code: number,
  text: string,
  data: string | undefined,
  method: string,
): ErrorParts {
  if (code === LEGACY_RESOURCE_NOT_FOUND && method === 'resources/read') {
    return parts(INVALID_PARAMS, text, data);
  }
  if (code !== LEGACY_RESOURCE_NOT_FOUND && !isSpecificationRange(code)) return parts(code, text, data);
  return parts(INTERNAL_ERROR, text, original(code, text, data));
}

function parts(code: number, text: string, data: string | undefined): ErrorParts {
  return { code, text, ...(data !== undefined && { data }) };
}

function original(code: number, text: string, data: string | undefined): string {
  const dataPart = data === undefined ? '' : `,"data":${data}`;
  return `{"upstreamError":{"code":${code},"message":${JSON.stringify(text)}${dataPart}}}`;
}

function explain(code: number, text: string, data: string | undefined): string {
  switch (code) {
    case HEADER_MISMATCH:
      return `The server found that the request's HTTP headers do not match its body: ${text}`;
    case MISSING_CLIENT_CAPABILITY: {
      const names = requiredCapabilities(data);
      const list = names.length > 0 ? `: ${names.join(', ')}` : '';
      return `The server needs client capabilities that this client does not declare${list}`;
    }
    case UNSUPPORTED_PROTOCOL_VERSION: {
      const versions = supportedVersions(data);
      const list = versions.length > 0 ? `; it supports ${versions.join(', ')}` : '';
      return `The server does not support the protocol version it was addressed with${list}`;
    }
    default:
      return text;
  }
}

/** The versions that the data of a `-32022` lists; empty when it lists none. */
export function supportedVersions(data: string | undefined): string[] {
  return strings(data, 'supported');
}

function hasUri(data: string | undefined): boolean {
  if (data?.startsWith('{') !== true) return false;
  return stringValue(data, memberOf(scanInnerObject(data, 0), 'uri')) !== undefined;
}

/** Names such as `elicitation.url`: capabilities nest one level deep. */
function requiredCapabilities(data: string | undefined): string[] {
  if (data?.startsWith('{') !== true) return [];
  const required = memberOf(scanInnerObject(data, 0, { requiredCapabilities: {} }), 'requiredCapabilities');
  return (required?.object?.members ?? []).flatMap(({ key, start }) => {
    if (kindOf(data, { start }) !== 'object') return [key];
    const { members } = scanInnerObject(data, start);
    return members.length === 0 ? [key] : members.map((inner) => `${key}.${inner.key}`);
  });
}

function strings(data: string | undefined, key: string): string[] {
  if (data?.startsWith('{') !== true) return [];
  const member = memberOf(scanInnerObject(data, 0), key);
  if (member === undefined || kindOf(data, member) !== 'array') return [];
  return scanInnerArray(data, member.start).flatMap((span) => stringValue(data, span) ?? []);
}

import type { Incoming } from './adapter.js';
import { LEGACY_REVISIONS, isLegacyRevision } from './2025-11-25/revisions.js';
import { MODERN_REVISIONS, isModernRevision } from './2026-07-28/revisions.js';
import { GATEWAY_CODE, GatewayError } from '../src/errors/gateway-error.js';
import type { Era } from '../src/exchange/exchange.js';
import type { HttpRequest } from '../src/http/port.js';
import { INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND } from '../src/jsonrpc/error-code.js';
import { memberOf } from '../src/jsonrpc/json-scan.js';
import { UNSUPPORTED_PROTOCOL_VERSION } from '../src/translation/error.js';
import { RESERVED_META, reservedMeta, reservedMetaString } from '../src/translation/reserved-meta.js';

/**
 * Which era a request belongs to. Decided for each request anew; the order of the rules is the precedence.
 * @param knowsSession whether the request shows a live session of this caller
 * @throws GatewayError the request belongs to no era
 * @see /specification/2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions
 */
export function clientEra(request: HttpRequest, incoming: Incoming, knowsSession: boolean): Era {
  const session = request.headers['mcp-session-id'];
  const version = request.headers['mcp-protocol-version'];
  if (request.method !== 'POST') return withoutBody(session, knowsSession);
  const [message] = incoming.messages;
  if (!incoming.batch && message !== undefined) {
    if (message.kind === 'request' && message.method === 'initialize') {
      const modern = isModernRevision(reservedMetaString(message, 'protocolVersion'));
      if (modern && memberOf(message.params?.object, 'protocolVersion') === undefined) {
        throw new GatewayError(METHOD_NOT_FOUND, 'Method not found: initialize', { status: 404 });
      }
      return 'legacy';
    }
    if (knowsSession) return 'legacy';
    if (reservedMeta(message, 'protocolVersion') !== undefined) return 'modern';
  }
  if (knowsSession) return 'legacy';
  if (session !== undefined) throw unknownSession();
  if (incoming.batch) {
    throw new GatewayError(
      INVALID_REQUEST,
      'the body must be a single JSON-RPC message; batches exist in sessions of protocol version 2025-03-26 only',
      { status: 400 },
    );
  }
  if (isModernRevision(version)) {
    if (message?.kind === 'notification') return 'modern';
    throw new GatewayError(
      INVALID_PARAMS,
      `Invalid params: _meta["${RESERVED_META.protocolVersion}"] is required with MCP-Protocol-Version ${version ?? ''}`,
      { status: 400 },
    );
  }
  if (version !== undefined && !isLegacyRevision(version)) {
    throw new GatewayError(UNSUPPORTED_PROTOCOL_VERSION, 'Unsupported protocol version', {
      status: 400,
      data: JSON.stringify({
        supported: [...MODERN_REVISIONS, ...LEGACY_REVISIONS],
        requested: version.slice(0, 100),
      }),
    });
  }
  throw new GatewayError(
    INVALID_REQUEST,
    `no session: send initialize first, or name the protocol version of a sessionless request in _meta["${RESERVED_META.protocolVersion}"]`,
    { status: 400 },
  );
}

/** GET and DELETE belong to sessions, and sessions to the legacy era. */
function withoutBody(session: string | undefined, knowsSession: boolean): Era {
  if (knowsSession) return 'legacy';
  if (session !== undefined) throw unknownSession();
  throw new GatewayError(GATEWAY_CODE.refused, 'without a session only POST is allowed', {
    status: 405,
    headers: { Allow: 'POST' },
  });
}

function unknownSession(): GatewayError {
  return new GatewayError(GATEWAY_CODE.sessionEnded, 'unknown or expired session; initialize again', {
    status: 404,
  });
}

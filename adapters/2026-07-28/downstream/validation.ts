import { GatewayError } from '../../../src/errors/gateway-error.js';
import { checkDescription } from '../../../src/exchange/description-limit.js';
import type { ClientDescription } from '../../../src/exchange/exchange.js';
import type { HttpRequest } from '../../../src/http/port.js';
import { INVALID_PARAMS } from '../../../src/jsonrpc/error-code.js';
import type { Message } from '../../../src/jsonrpc/message.js';
import { HEADER_MISMATCH, UNSUPPORTED_PROTOCOL_VERSION } from '../../../src/translation/error.js';
import { decodeHeaderValue, encodeHeaderValue } from '../../../src/translation/header-value.js';
import { isLogLevel } from '../../../src/translation/log-level.js';
import { RESERVED_META, reservedMeta, reservedMetaString } from '../../../src/translation/reserved-meta.js';
import { requestName } from '../request-name.js';
import { isModernRevision } from '../revisions.js';

/** What validation depends on besides the request. */
export interface ValidationOptions {
  /** Every revision the gateway serves, for `data.supported`. */
  readonly servedRevisions: readonly string[];
  /** Serve a body whose version the header contradicts with a legacy one. */
  readonly hybridClients: boolean;
  /** Bound on what a client says of itself, in UTF-16 units. */
  readonly descriptionCharacters: number;
}

/**
 * Checks a modern request's metadata and headers against its body, in the specification's order, and says who sent it.
 * @throws GatewayError HTTP 400 with -32602, -32020 or -32022
 * @see /specification/2026-07-28/basic/transports/streamable-http#server-validation
 */
export function describeClient(
  request: HttpRequest,
  message: Message,
  options: ValidationOptions,
): ClientDescription {
  const revision = reservedMetaString(message, 'protocolVersion');
  if (revision === undefined) {
    throw invalid(`_meta["${RESERVED_META.protocolVersion}"] is required and must be a string`);
  }
  checkVersionHeader(request, revision, options);
  checkRevision(revision, options);
  const capabilities = reservedMeta(message, 'clientCapabilities');
  if (capabilities?.startsWith('{') !== true) {
    throw invalid(`_meta["${RESERVED_META.clientCapabilities}"] is required and must be an object`);
  }
  const clientInfo = reservedMeta(message, 'clientInfo');
  if (clientInfo?.startsWith('{') === false) {
    throw invalid(`_meta["${RESERVED_META.clientInfo}"] must be an object`);
  }
  const logLevel = reservedMetaString(message, 'logLevel');
  if (reservedMeta(message, 'logLevel') !== undefined && !isLogLevel(logLevel)) {
    throw invalid(`_meta["${RESERVED_META.logLevel}"] must be one of the eight log levels`);
  }
  checkMethodHeader(request, message);
  checkNameHeader(request, message);
  const client = {
    revision,
    capabilities,
    ...(clientInfo !== undefined && { clientInfo }),
    ...(logLevel !== undefined && { logLevel }),
  };
  checkDescription(client, options.descriptionCharacters);
  return client;
}

/**
 * Checks what a modern notification says of itself against its headers. Which headers one must have is not specified, so
 * none is missed; but what is said twice must be the same.
 * @throws GatewayError HTTP 400 with -32602, -32020 or -32022
 * @see /specification/2026-07-28/basic/transports/streamable-http#sending-messages
 */
export function checkNotification(request: HttpRequest, message: Message, options: ValidationOptions): void {
  const revision = reservedMetaString(message, 'protocolVersion');
  if (revision !== undefined) {
    if (request.headers['mcp-protocol-version'] !== undefined) checkVersionHeader(request, revision, options);
    checkRevision(revision, options);
  } else if (reservedMeta(message, 'protocolVersion') !== undefined) {
    throw invalid(`_meta["${RESERVED_META.protocolVersion}"] must be a string`);
  }
  if (request.headers['mcp-method'] !== undefined) checkMethodHeader(request, message);
}

/**
 * Checks the `Mcp-Param-*` headers of a retry against those of the request it continues, which were compared with the
 * same arguments: one that says something else contradicts the body.
 * @throws GatewayError HTTP 400 with -32020
 * @see /specification/2026-07-28/basic/transports/streamable-http#server-behavior-for-custom-headers
 */
export function checkRetryHeaders(
  first: Readonly<Record<string, string>>,
  retry: Readonly<Record<string, string>>,
): void {
  for (const [name, value] of Object.entries(retry)) {
    const before = name.startsWith('mcp-param-') ? first[name] : undefined;
    if (before === undefined || before === value) continue;
    if (decodeHeaderValue(before) !== decodeHeaderValue(value))
      throw mismatch(`the ${name} header does not match the arguments`);
  }
}

function checkRevision(revision: string, { servedRevisions }: ValidationOptions): void {
  if (isModernRevision(revision)) return;
  const data = JSON.stringify({ supported: servedRevisions, requested: revision.slice(0, 100) });
  throw new GatewayError(UNSUPPORTED_PROTOCOL_VERSION, 'Unsupported protocol version', { status: 400, data });
}

function checkVersionHeader(request: HttpRequest, revision: string, options: ValidationOptions): void {
  const header = request.headers['mcp-protocol-version'];
  if (header === revision) return;
  if (header === undefined) throw mismatch('the MCP-Protocol-Version header is required');
  if (options.hybridClients && isModernRevision(revision) && options.servedRevisions.includes(header)) return;
  throw mismatch(
    `MCP-Protocol-Version header value ${shown(header)} does not match body value ${shown(revision)}`,
  );
}

function checkMethodHeader(request: HttpRequest, message: Message): void {
  const header = request.headers['mcp-method'];
  const method = message.method ?? '';
  if (header === undefined) throw mismatch('the Mcp-Method header is required');
  // Only a name that no header can carry is encoded: whoever filters by method compares plain text.
  if (header !== method && header !== encodeHeaderValue(method)) {
    throw mismatch(`Mcp-Method header value ${shown(header)} does not match body value ${shown(method)}`);
  }
}

function checkNameHeader(request: HttpRequest, message: Message): void {
  const name = requestName(message);
  if (name === undefined) return;
  const header = request.headers['mcp-name'];
  if (header === undefined) throw mismatch(`the Mcp-Name header is required for ${message.method ?? ''}`);
  const decoded = decodeHeaderValue(header);
  if (decoded === undefined)
    throw mismatch('the Mcp-Name header contains characters or an encoding that is not valid');
  if (decoded !== name.value) {
    throw mismatch(
      `Mcp-Name header value ${shown(decoded)} does not match body value ${name.value === undefined ? 'nothing' : shown(name.value)}`,
    );
  }
}

function mismatch(text: string): GatewayError {
  return new GatewayError(HEADER_MISMATCH, `Header mismatch: ${text}`, { status: 400 });
}

function invalid(text: string): GatewayError {
  return new GatewayError(INVALID_PARAMS, `Invalid params: ${text}`, { status: 400 });
}

function shown(value: string): string {
  return JSON.stringify(value.slice(0, 100));
}

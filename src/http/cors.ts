import type { ReplyHeaders } from './port.js';

const ALLOWED_METHODS = 'POST, GET, DELETE';
const EXPOSED_HEADERS = 'Mcp-Session-Id, WWW-Authenticate';
const ALLOWED_HEADERS = [
  'Content-Type',
  'Accept',
  'Authorization',
  'Mcp-Method',
  'Mcp-Name',
  'MCP-Protocol-Version',
  'Mcp-Session-Id',
  'Last-Event-ID',
];

/** How long a browser may keep a preflight's answer, in seconds. */
const PREFLIGHT_SECONDS = '600';

/** What lets a page of this origin read an answer. Only for an origin that passed the check. */
export function corsHeaders(origin: string): ReplyHeaders {
  return {
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Expose-Headers': EXPOSED_HEADERS,
    Vary: 'Origin',
  };
}

/**
 * What answers a preflight. `Mcp-*` cannot be allowed by pattern (a wildcard stands for whole names only and not
 * for requests with credentials), so the names that were asked for are returned if they belong to that family.
 */
export function preflightHeaders(requestedHeaders: string | undefined): ReplyHeaders {
  const asked = (requestedHeaders ?? '').split(',').map((name) => name.trim());
  const family = asked.filter((name) => /^mcp-[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(name));
  const known = new Set(ALLOWED_HEADERS.map((name) => name.toLowerCase()));
  const extra = new Set(family.map((name) => name.toLowerCase()).filter((name) => !known.has(name)));
  return {
    'Access-Control-Allow-Methods': ALLOWED_METHODS,
    'Access-Control-Allow-Headers': [...ALLOWED_HEADERS, ...extra].join(', '),
    'Access-Control-Max-Age': PREFLIGHT_SECONDS,
  };
}

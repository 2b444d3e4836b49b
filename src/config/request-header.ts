/** Fields that HTTP or MCP computes for each request; a fixed value would break framing or contradict the body. */
const COMPUTED = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'last-event-id',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Why a configured request header is not allowed, or undefined when it is. The wording completes
 * "expected …".
 */
export function refusedHeader(name: string): string | undefined {
  // RFC 9110 section 5.6.2, token.
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return 'an HTTP header name';
  const lower = name.toLowerCase();
  if (lower === 'authorization') return "no Authorization here: use authorization: {mode: 'static', header}";
  if (lower.startsWith('mcp-')) return 'no Mcp-* header: the gateway computes them';
  if (COMPUTED.has(lower)) return 'a header that is not computed for each request';
  return undefined;
}

/** Whether a value can stand in a header field: one line, visible characters of one byte, spaces and tabs inside. */
export function isHeaderValue(value: string): boolean {
  return /^[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?$/.test(value);
}

/**
 * How values travel in `Mcp-Name` and `Mcp-Param-*` headers (X6, X7).
 * @see /specification/2026-07-28/basic/transports/streamable-http#value-encoding
 */
const PREFIX = '=?base64?';
const SUFFIX = '?=';
/** Visible ASCII with spaces inside. A tab would be legal in HTTP, but some peers and proxies change it. */
const PLAIN = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;
const FIELD_VALUE = /^[\t\x20-\x7e]*$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * X6: the header value for a string; base64 when it would not survive as it is, or would be taken for base64.
 * An empty string is encoded too: some HTTP stacks drop headers without a value.
 */
export function encodeHeaderValue(value: string): string {
  if (PLAIN.test(value) && !isSentinel(value)) return value;
  return PREFIX + Buffer.from(value, 'utf8').toString('base64') + SUFFIX;
}

/**
 * X6: the string a header value stands for. Undefined for characters a header must not have and for base64
 * that is malformed or no UTF-8: such a request is refused.
 */
export function decodeHeaderValue(value: string): string | undefined {
  if (!isSentinel(value)) return FIELD_VALUE.test(value) ? value : undefined;
  const base64 = value.slice(PREFIX.length, -SUFFIX.length);
  if (!BASE64.test(base64)) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  // Spare bits in the last character would give one value several spellings.
  if (bytes.toString('base64') !== base64) return undefined;
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

function isSentinel(value: string): boolean {
  return value.length >= PREFIX.length + SUFFIX.length && value.startsWith(PREFIX) && value.endsWith(SUFFIX);
}

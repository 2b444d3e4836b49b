import type { HttpLimits } from './options.js';
import type { HttpRequest } from './port.js';
import { refusal } from './refusal.js';

/** Request headers by lower-case name, repeated ones joined, and every `Host` there was. */
export interface RequestHeaders {
  readonly fields: HttpRequest['headers'];
  readonly hosts: readonly string[];
}

/**
 * Headers that name one thing. Node would join repeated ones with ", ", and two hops could then disagree about
 * which value counts.
 */
const SINGLE: ReadonlySet<string> = new Set([
  'authorization',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
]);

// Node hands header bytes over as Latin-1, so raw UTF-8 arrives as mojibake that would compare unequal later.
const NON_ASCII = /[\u0080-\uffff]/;

/** Characters a header line has besides its name and value: ": " and the line break. */
const LINE_OVERHEAD = 4;

/**
 * Reads the header lines as they stood on the wire.
 * @throws GatewayError 431 beyond the limits; 400 for a header that names one thing and was sent with two values,
 * or that holds raw bytes from 0x80
 * @see https://www.rfc-editor.org/rfc/rfc9110.html#name-field-values
 */
export function readHeaders(
  rawHeaders: readonly string[],
  limits: Pick<HttpLimits, 'headerBytes' | 'headerCount'>,
): RequestHeaders {
  const count = rawHeaders.length / 2;
  if (count > limits.headerCount) {
    throw refusal(431, `The request has ${count} headers; the limit (headerCount) is ${limits.headerCount}.`);
  }
  const fields = Object.create(null) as Record<string, string | undefined>;
  const hosts: string[] = [];
  let bytes = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    const value = rawHeaders[index + 1] ?? '';
    bytes += name.length + value.length + LINE_OVERHEAD;
    const key = name.toLowerCase();
    if (key === 'host') hosts.push(value);
    const single = SINGLE.has(key);
    if (single && NON_ASCII.test(value)) {
      throw refusal(400, `The ${name} header holds bytes beyond ASCII; encode the value.`);
    }
    const earlier = fields[key];
    if (earlier === undefined) fields[key] = value;
    else if (!single) fields[key] = `${earlier}, ${value}`;
    else if (earlier !== value) {
      throw refusal(400, `The ${name} header was sent more than once, with different values.`);
    }
  }
  if (bytes > limits.headerBytes) {
    throw refusal(431, `The headers have ${bytes} bytes; the limit (headerBytes) is ${limits.headerBytes}.`);
  }
  return { fields, hosts };
}

/**
 * `Mcp-Param-*` headers: made from a call's arguments, and compared with them (X7).
 * @see /specification/2026-07-28/basic/transports/streamable-http#client-behavior and #server-validation
 */
import {
  type Span,
  kindOf,
  memberOf,
  scanInnerObject,
  stringValue,
  valueText,
} from '../jsonrpc/json-scan.js';
import type { Message } from '../jsonrpc/message.js';
import { exactInteger, sameNumber } from './exact-number.js';
import { decodeHeaderValue, encodeHeaderValue } from './header-value.js';
import type { HeaderParam } from './x-mcp-header.js';

/** Request headers with lower-case names, as Node gives them. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * X7: the headers a conforming client sends with this `tools/call`. `null`, absent and non-primitive values
 * have none. Integers are written out exactly, also beyond the range the specification allows: the server
 * may compare them, and the gateway must not round them.
 */
export function paramHeaders(params: readonly HeaderParam[], call: Message): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const param of params) {
    const value = primitiveAt(call, param);
    if (value !== undefined) headers[`Mcp-Param-${param.header}`] = encodeHeaderValue(value.text);
  }
  return headers;
}

/**
 * X7: compares the headers of a `tools/call` with its arguments. Undefined when they agree, else what is wrong.
 * A header without a value in the body is refused as well: whoever routes by it would see another call.
 */
export function checkParamHeaders(
  params: readonly HeaderParam[],
  call: Message,
  headers: RequestHeaders,
): string | undefined {
  for (const param of params) {
    if (isAmbiguous(call, param)) return `the body has "${param.path.join('.')}" more than once`;
    const problem = checkParam(param, primitiveAt(call, param), headers);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function checkParam(
  param: HeaderParam,
  value: Primitive | undefined,
  headers: RequestHeaders,
): string | undefined {
  const name = `Mcp-Param-${param.header}`;
  const header = headers[name.toLowerCase()];
  const where = `the argument "${param.path.join('.')}"`;
  if (header === undefined) {
    if (value === undefined || value.omissible) return undefined;
    return `the ${name} header is missing, but the body has ${where}`;
  }
  if (value === undefined) return `the body has no value for the ${name} header in ${where}`;
  const decoded = typeof header === 'string' ? decodeHeaderValue(header) : undefined;
  if (decoded === undefined) return `the ${name} header has invalid characters or an invalid encoding`;
  const same = value.kind === 'number' ? sameNumber(decoded, value.text) : decoded === value.text;
  return same ? undefined : `the ${name} header does not match ${where}`;
}

interface Primitive {
  readonly kind: 'string' | 'number' | 'boolean';
  /** The value as a header carries it, before encoding. */
  readonly text: string;
  /** A number outside the range the specification allows, which real clients leave out. */
  readonly omissible: boolean;
}

function primitiveAt(call: Message, param: HeaderParam): Primitive | undefined {
  const { text } = call;
  let at: Span | undefined = memberOf(call.params?.object, 'arguments');
  for (const key of param.path) {
    if (at === undefined || kindOf(text, at) !== 'object') return undefined;
    at = memberOf(scanInnerObject(text, at.start), key);
  }
  if (at === undefined) return undefined;
  const kind = kindOf(text, at);
  const raw = valueText(text, at);
  if (kind === 'string') return { kind, text: stringValue(text, at) ?? '', omissible: false };
  if (kind === 'boolean') return { kind, text: raw, omissible: false };
  if (kind !== 'number') return undefined;
  const value = Number(raw);
  const omissible = Number.isInteger(value) ? !Number.isSafeInteger(value) : !Number.isFinite(value);
  return { kind, text: exactInteger(raw) ?? raw, omissible };
}

/** Whether a member on the way to the parameter is repeated, so that two readers may see two values. */
function isAmbiguous(call: Message, param: HeaderParam): boolean {
  const { text } = call;
  let at: Span | undefined = memberOf(call.params?.object, 'arguments');
  for (const key of param.path) {
    if (at === undefined || kindOf(text, at) !== 'object') return false;
    const same: Span[] = scanInnerObject(text, at.start).members.filter((member) => member.key === key);
    if (same.length > 1) return true;
    at = same[0];
  }
  return false;
}

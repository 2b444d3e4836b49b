/**
 * JSON messages as text and the places in it.
 *
 * A gateway that parses and re-prints loses what it has no business touching: 64-bit integers, `1.10`,
 * `1e400`, key order, an own `__proto__`. So messages stay text; one scan checks the whole text and notes the members of
 * the few objects an era owns, and edits are spliced into the text.
 */
import {
  type Interest,
  JsonScanError,
  JsonScanner,
  type Member,
  type ObjectScan,
  type Span,
} from './json-scanner.js';

export { JsonScanError } from './json-scanner.js';
export type { Interest, Member, ObjectScan, Span } from './json-scanner.js';

/** Scans exactly one value of a text; `read` reads it when it is of the wanted type. */
function scanWhole<T>(
  text: string,
  maxDepth: number,
  wanted: 'object' | 'array',
  read: (scanner: JsonScanner) => T,
): T {
  const scanner = new JsonScanner(text, 0, maxDepth);
  scanner.skipSpace();
  const { pos } = scanner;
  const opens = text.charAt(pos) === (wanted === 'object' ? '{' : '[');
  const value = opens ? read(scanner) : undefined;
  if (!opens) scanner.skipValue(0);
  scanner.skipSpace();
  if (scanner.pos !== text.length) scanner.fail('unexpected text behind the value');
  // Only now: "not JSON" and "JSON, but of another type" are different complaints.
  if (value === undefined) throw new JsonScanError(`expected an ${wanted}`, pos, 'refused');
  return value;
}

/**
 * Scans one whole JSON text whose root is an object. A repeated member of an object of interest is refused.
 * @param maxDepth nesting levels allowed, the root counting as one
 * @throws JsonScanError when the text is not exactly one JSON object within the limits
 */
export function scanObjectText(text: string, interest: Interest, maxDepth: number): ObjectScan {
  return scanWhole(text, maxDepth, 'object', (scanner) => scanner.object(interest, 1, 'refuse'));
}

/**
 * Scans one whole JSON text whose root is an array and returns the span of each element.
 * @throws JsonScanError when the text is not exactly one JSON array within the limits
 */
export function scanArrayText(text: string, maxDepth: number): Span[] {
  return scanWhole(text, maxDepth, 'array', elementSpans);
}

/**
 * Scans the members of an object that stands inside an already validated text. Repeated members are recorded,
 * not refused: what is payload is carried as it is, and `memberOf` sees the last one, as `JSON.parse` does.
 */
export function scanInnerObject(text: string, start: number, interest: Interest = {}): ObjectScan {
  return new JsonScanner(text, start, Number.MAX_SAFE_INTEGER).object(interest, 1, 'record');
}

/** The spans of the elements of an array that stands inside an already validated text. */
export function scanInnerArray(text: string, start: number): Span[] {
  return elementSpans(new JsonScanner(text, start, Number.MAX_SAFE_INTEGER));
}

function elementSpans(scanner: JsonScanner): Span[] {
  const spans: Span[] = [];
  scanner.elements(1, () => {
    const start = scanner.pos;
    scanner.skipValue(1);
    spans.push({ start, end: scanner.pos });
  });
  return spans;
}

/** The first non-space character of a text: `{` for a message, `[` for a batch. */
export function firstToken(text: string): string {
  return /[^\x20\t\r\n]/.exec(text)?.[0] ?? '';
}

/** The member of that name, if the object has one; of repeated ones the last. */
export function memberOf(object: ObjectScan | undefined, key: string): Member | undefined {
  if (object === undefined) return undefined;
  const { members } = object;
  for (let i = members.length - 1; i >= 0; i--) {
    const member = members[i];
    if (member?.key === key) return member;
  }
  return undefined;
}

/** The text of a member's value. */
export function valueText(text: string, member: Span): string {
  return text.slice(member.start, member.end);
}

/** The decoded string, or undefined when the member is absent or no string. */
export function stringValue(text: string, member: Span | undefined): string | undefined {
  if (member === undefined || text.charAt(member.start) !== '"') return undefined;
  const raw = text.slice(member.start, member.end);
  return raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1);
}

/** The JSON kind of a value, told from its first character. */
export function kindOf(
  text: string,
  member: { start: number },
): 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null' {
  switch (text.charAt(member.start)) {
    case '{':
      return 'object';
    case '[':
      return 'array';
    case '"':
      return 'string';
    case 't':
    case 'f':
      return 'boolean';
    case 'n':
      return 'null';
    default:
      return 'number';
  }
}

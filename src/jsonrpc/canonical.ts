import { kindOf, scanInnerArray, scanInnerObject } from './json-scan.js';

/**
 * One text for all texts of the same JSON value: no white space, members sorted by name, strings in one spelling, numbers
 * exactly as written. Two texts that differ in a number's digits stay different, because rounding would make different
 * values equal.
 * @param span a value inside an already validated text
 */
export function canonicalJson(text: string, span: { start: number; end: number }): string {
  switch (kindOf(text, span)) {
    case 'object': {
      const members = scanInnerObject(text, span.start).members.map(
        (member) => [member.key, canonicalJson(text, member)] as const,
      );
      members.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
      return `{${members.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`;
    }
    case 'array':
      return `[${scanInnerArray(text, span.start)
        .map((item) => canonicalJson(text, item))
        .join(',')}]`;
    case 'string':
      return JSON.stringify(JSON.parse(text.slice(span.start, span.end)));
    default:
      return text.slice(span.start, span.end);
  }
}

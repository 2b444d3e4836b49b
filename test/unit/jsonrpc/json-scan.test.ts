import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  JsonScanError,
  firstToken,
  kindOf,
  memberOf,
  scanArrayText,
  scanInnerArray,
  scanInnerObject,
  scanObjectText,
  stringValue,
  valueText,
} from '../../../src/jsonrpc/json-scan.js';
import { jsonText, mutatedJsonText, objectMembers, printMembers, repetitiveJsonText } from './json-texts.js';

const UNLIMITED = Number.MAX_SAFE_INTEGER;

function accepts(scan: () => unknown): boolean {
  try {
    scan();
    return true;
  } catch (error) {
    if (!(error instanceof JsonScanError)) throw error;
    return false;
  }
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('the scanner', () => {
  it('C12 accepts every JSON text', () => {
    fc.assert(
      fc.property(repetitiveJsonText, (text) => {
        expect(accepts(() => scanArrayText(`[${text}]`, UNLIMITED))).toBe(true);
        expect(accepts(() => scanObjectText(` {"v":${text}}\n`, {}, UNLIMITED))).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  it('C12 accepts a mutated text exactly when JSON.parse does', () => {
    fc.assert(
      fc.property(mutatedJsonText, (text) => {
        // An array around it: repeated members inside are payload, and JSON.parse takes them too.
        expect(accepts(() => scanArrayText(`[${text}]`, UNLIMITED))).toBe(parses(`[${text}]`));
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    '01',
    '-',
    '+1',
    '.5',
    '1.',
    '1e',
    '0x1',
    'NaN',
    'Infinity',
    'True',
    'nul',
    "'a'",
    '"\\x"',
    '"\\u12g4"',
    '"\\u12',
    '"a\nb"',
    '"a\u0000b"',
    '"',
    '[1,]',
    '[,1]',
    '[1 2]',
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{a:1}',
    '{"a":1 "b":2}',
    '[}',
    '{]',
    '\u00a01',
    '\ufeff1',
    '/* */1',
    '1//',
    '',
  ])('C12 refuses %j, as JSON.parse does', (text) => {
    expect(parses(`[0,${text}]`)).toBe(false);
    expect(accepts(() => scanArrayText(`[0,${text}]`, UNLIMITED))).toBe(false);
    expect(accepts(() => scanObjectText(`{"v":${text}}`, {}, UNLIMITED))).toBe(false);
  });

  it('C12 records members with their exact texts and decoded keys', () => {
    fc.assert(
      fc.property(objectMembers, (members) => {
        const text = `{${printMembers(members)}}`;
        for (const scan of [scanObjectText(text, {}, UNLIMITED), scanInnerObject(text, 0)]) {
          expect(scan).toMatchObject({ start: 0, end: text.length });
          expect(scan.members.map((m) => [m.key, valueText(text, m)])).toEqual(
            members.map(([key, value]) => [JSON.parse(key), trim(value)]),
          );
          for (const member of scan.members) {
            const value = valueText(text, member);
            const parsed: unknown = JSON.parse(value);
            expect(stringValue(text, member)).toBe(typeof parsed === 'string' ? parsed : undefined);
            expect(kindOf(text, member)).toBe(
              parsed === null ? 'null' : Array.isArray(parsed) ? 'array' : typeof parsed,
            );
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  it('C12 finds the elements of arrays', () => {
    fc.assert(
      fc.property(fc.array(jsonText, { maxLength: 5 }), (items) => {
        const text = `[ ${items.join(' ,\t')}]`;
        for (const spans of [scanArrayText(text, UNLIMITED), scanInnerArray(text, 0)]) {
          expect(spans.map((span) => valueText(text, span))).toEqual(items);
        }
      }),
    );
  });

  it('C12 survives any depth within the limit, and names the limit beyond it', () => {
    const deep = (n: number): string => `{"a":${'[{"b":'.repeat(n)}1${'}]'.repeat(n)}}`;
    expect(accepts(() => scanObjectText(deep(100_000), {}, UNLIMITED))).toBe(true);
    expect(accepts(() => scanObjectText(deep(50), {}, 101))).toBe(true);
    expect(() => scanObjectText(deep(50), {}, 100)).toThrow('nesting deeper than 100');
    expect(accepts(() => scanObjectText('['.repeat(200_000), {}, UNLIMITED))).toBe(false);
    expect(() => scanObjectText(`{"a":${'['.repeat(200_000)}`, {}, 100)).toThrow('nesting deeper than 100');
  });

  it('refuses repeated members in objects of interest, however they are spelled', () => {
    const interest = { params: { _meta: {} } };
    for (const text of [
      '{"a":1,"a":1}',
      '{"a":1,"\\u0061":1}',
      '{"__proto__":1,"__proto__":2}',
      '{"params":{"x":1,"x":2}}',
      '{"params":{"_meta":{"x":1,"x":2}}}',
    ]) {
      expect(() => scanObjectText(text, interest, 9)).toThrow(
        expect.objectContaining({ kind: 'refused', problem: expect.stringContaining('duplicate member') }),
      );
    }
    expect(accepts(() => scanObjectText('{"result":{"x":1,"x":2}}', interest, 9))).toBe(true);
    expect(accepts(() => scanObjectText('{"params":{"arguments":{"x":1,"x":2}}}', interest, 9))).toBe(true);
  });

  it('takes repeated members of payload as JSON.parse does: the last one counts', () => {
    const text = '{"a":1,"b":{"c":1,"c":2},"a":3}';
    const scan = scanInnerObject(text, 0, { b: {} });
    expect(valueText(text, memberOf(scan, 'a')!)).toBe('3');
    expect(valueText(text, memberOf(memberOf(scan, 'b')?.object, 'c')!)).toBe('2');
    expect(scan.members).toHaveLength(3);
  });

  it('is not confused by names that JavaScript objects have by themselves', () => {
    const text = '{"toString":{"a":1},"__proto__":{"b":2}}';
    const scan = scanObjectText(text, {}, 9);
    expect(scan.members.map((m) => m.object)).toEqual([undefined, undefined]);
    expect(memberOf(scan, 'constructor')).toBeUndefined();
    expect(memberOf(undefined, 'a')).toBeUndefined();
  });

  it('tells "no JSON" from "another type"', () => {
    for (const text of ['5', '"x"', '[1]', ' null ']) {
      expect(() => scanObjectText(text, {}, 9)).toThrow(expect.objectContaining({ kind: 'refused' }));
    }
    for (const text of ['5 6', '[1', '{} {}', '{"a":1}x', '', ' ']) {
      expect(() => scanObjectText(text, {}, 9)).toThrow(expect.objectContaining({ kind: 'syntax' }));
    }
    expect(() => scanArrayText('{}', 9)).toThrow(expect.objectContaining({ kind: 'refused' }));
    expect(() => scanArrayText('[] x', 9)).toThrow(expect.objectContaining({ kind: 'syntax' }));
  });

  it('finds the first token', () => {
    expect(firstToken(' \r\n\t[')).toBe('[');
    expect(firstToken('  ')).toBe('');
    expect(firstToken('\u00a0{')).toBe('\u00a0');
  });
});

/** JSON's own white space only; String.prototype.trim knows more. */
function trim(text: string): string {
  return text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '');
}

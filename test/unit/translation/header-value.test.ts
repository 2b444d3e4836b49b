import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeHeaderValue, encodeHeaderValue } from '../../../src/translation/header-value.js';

describe('encodeHeaderValue', () => {
  it.each([
    ['us-west1', 'us-west1'],
    ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
    [' padded ', '=?base64?IHBhZGRlZCA=?='],
    ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
    ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
    ['a b', 'a b'],
    ['=?base64?', '=?base64?'],
    ['=?base64?=', '=?base64?='],
    ['', '=?base64??='],
    ['\tindented', '=?base64?CWluZGVudGVk?='],
    ['a\u007f', '=?base64?YX8=?='],
    ['é', '=?base64?w6k=?='],
  ])('X6 encodes %j as %j, and back', (value, header) => {
    expect(encodeHeaderValue(value)).toBe(header);
    expect(decodeHeaderValue(header)).toBe(value);
  });

  it('X6 every string that has a UTF-8 form comes back, through a header that HTTP allows', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' })), (value) => {
        const header = encodeHeaderValue(value);
        expect(header).toMatch(/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/);
        expect(decodeHeaderValue(header)).toBe(value);
      }),
    );
  });
});

describe('decodeHeaderValue', () => {
  it('X6 takes what is no sentinel literally', () => {
    for (const value of ['SGVsbG8=', '=?base64?SGVsbG8=', '=?BASE64?SGVsbG8=?=', 'SGVsbG8=?=', 'a\tb']) {
      expect(decodeHeaderValue(value)).toBe(value);
    }
  });

  it.each([
    ['=?base64?SGVsbG8?=', 'no padding'],
    ['=?base64?SGVs!!!bG8=?=', 'other characters'],
    ['=?base64?SGVs bG8=?=', 'a space'],
    ['=?base64?SGVsbG8-?=', 'the URL alphabet'],
    ['=?base64?QR==?=', 'spare bits'],
    ['=?base64?/w==?=', 'no UTF-8'],
    ['=?base64?7aCA?=', 'a surrogate'],
    ['caf\u00e9', 'raw Latin-1'],
    ['a\u0000b', 'a control character'],
  ])('X6 refuses %j: %s', (value) => {
    expect(decodeHeaderValue(value)).toBeUndefined();
  });

  it('X6 keeps a byte order mark, which is part of the value', () => {
    expect(decodeHeaderValue(encodeHeaderValue('\ufeffx'))).toBe('\ufeffx');
  });
});

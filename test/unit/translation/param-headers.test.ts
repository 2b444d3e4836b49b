import { describe, expect, it } from 'vitest';
import { checkParamHeaders, paramHeaders } from '../../../src/translation/param-headers.js';
import type { HeaderParam } from '../../../src/translation/x-mcp-header.js';
import { requestMessage } from './wire.js';

const call = (args: string | undefined) =>
  requestMessage('tools/call', `{"name":"t"${args === undefined ? '' : `,"arguments":${args}`}}`);
const N: HeaderParam[] = [{ header: 'N', path: ['n'], type: 'integer' }];
const S: HeaderParam[] = [{ header: 'Some-S', path: ['a', 's'], type: 'string' }];

describe('paramHeaders', () => {
  it.each([
    ['42', '42'],
    ['-7', '-7'],
    ['42.0', '42'],
    ['4.2e1', '42'],
    ['-0.0', '0'],
    ['1e3', '1000'],
    ['9007199254740993', '9007199254740993'],
    ['1.5', '1.5'],
    ['1e400', '1e400'],
    ['1e999999999', '1e999999999'],
    ['true', 'true'],
    ['"x"', 'x'],
    ['"\\u00e9"', '=?base64?w6k=?='],
  ])('X7 C12 mirrors %s exactly, as %s', (value, header) => {
    expect(paramHeaders(N, call(`{"n":${value}}`))).toEqual({ 'Mcp-Param-N': header });
    expect(checkParamHeaders(N, call(`{"n":${value}}`), { 'mcp-param-n': header })).toBeUndefined();
  });

  it('X7 leaves out what is null, absent or no primitive', () => {
    for (const args of ['{"n":null}', '{}', '{"n":{}}', '{"n":[]}', undefined, 'null', '[1]']) {
      expect(paramHeaders(N, call(args))).toEqual({});
      expect(checkParamHeaders(N, call(args), {})).toBeUndefined();
    }
    expect(paramHeaders(N, requestMessage('tools/call'))).toEqual({});
  });

  it('X7 follows the exact path of members', () => {
    expect(paramHeaders(S, call('{"s":"no","a":{"s":"yes"}}'))).toEqual({ 'Mcp-Param-Some-S': 'yes' });
    expect(paramHeaders(S, call('{"a.s":"no","a":[{"s":"no"}]}'))).toEqual({});
    const proto: HeaderParam[] = [{ header: 'P', path: ['__proto__'], type: 'string' }];
    expect(paramHeaders(proto, call('{}'))).toEqual({});
    expect(paramHeaders(proto, call('{"__proto__":"own"}'))).toEqual({ 'Mcp-Param-P': 'own' });
  });
});

describe('checkParamHeaders', () => {
  const check = (params: HeaderParam[], args: string, headers: Record<string, string | string[]>) =>
    checkParamHeaders(params, call(args), headers);

  it('X7 compares integers by value', () => {
    for (const header of ['42', '42.0', '4.2e1', '420e-1', '=?base64?NDI=?=']) {
      expect(check(N, '{"n":42}', { 'mcp-param-n': header })).toBeUndefined();
    }
    for (const header of ['43', '0x2A', '042', '+42', '42 ', '', 'NaN', '42.00000000000000000001']) {
      expect(check(N, '{"n":42}', { 'mcp-param-n': header })).toContain('does not match');
    }
  });

  it('X7 C12 does not round', () => {
    expect(check(N, '{"n":9007199254740993}', { 'mcp-param-n': '9007199254740992' })).toContain(
      'does not match',
    );
    expect(check(N, '{"n":0}', { 'mcp-param-n': '-0' })).toBeUndefined();
  });

  it('X7 compares strings and booleans as they are', () => {
    expect(check(S, '{"a":{"s":"42.0"}}', { 'mcp-param-some-s': '42' })).toContain('does not match');
    expect(check(S, '{"a":{"s":"Ab"}}', { 'mcp-param-some-s': 'ab' })).toContain('does not match');
    expect(check(N, '{"n":true}', { 'mcp-param-n': 'True' })).toContain('does not match');
    expect(check(S, '{"a":{"s":"Hello"}}', { 'mcp-param-some-s': '=?base64?SGVsbG8=?=' })).toBeUndefined();
  });

  it('X7 misses a header whose value is in the body, unless no header could carry it', () => {
    expect(check(N, '{"n":0}', {})).toBe(
      'the Mcp-Param-N header is missing, but the body has the argument "n"',
    );
    expect(check(N, '{"n":9007199254740993}', {})).toBeUndefined();
    expect(check(N, '{"n":1e400}', {})).toBeUndefined();
  });

  it('X7 refuses a header without a value in the body', () => {
    for (const args of ['{}', '{"n":null}', '{"n":[]}']) {
      expect(check(N, args, { 'mcp-param-n': '' })).toContain('the body has no value');
    }
  });

  it('X7 refuses malformed and repeated headers', () => {
    expect(check(S, '{"a":{"s":"x"}}', { 'mcp-param-some-s': '=?base64?SGVsbG8?=' })).toContain('invalid');
    expect(check(S, '{"a":{"s":"x"}}', { 'mcp-param-some-s': ['x', 'x'] })).toContain('invalid');
  });

  it('X7 refuses an argument that two readers may read differently', () => {
    expect(check(N, '{"n":1,"n":2}', { 'mcp-param-n': '2' })).toBe('the body has "n" more than once');
    expect(check(S, '{"a":{"s":"1"},"a":{"s":"2"}}', { 'mcp-param-some-s': '2' })).toContain(
      'more than once',
    );
  });

  it('X7 ignores headers nobody declared', () => {
    expect(check([], '{"n":1}', { 'mcp-param-x': 'anything' })).toBeUndefined();
  });

  it('X7 takes linear time on hostile numbers', () => {
    const hostile = `1${'0'.repeat(200_000)}1`;
    const started = performance.now();
    expect(check(N, `{"n":${hostile}}`, { 'mcp-param-n': '1' })).toContain('does not match');
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});

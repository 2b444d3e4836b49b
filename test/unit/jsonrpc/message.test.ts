import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Message,
  InvalidMessageError,
  idKey,
  metaOf,
  paramString,
  parseMessage,
} from '../../../src/jsonrpc/message.js';
import { printError, printNotification, printRequest, printResult } from '../../../src/jsonrpc/print.js';
import { jsonText } from './json-texts.js';

const parse = (text: string, lenient = false): Message => parseMessage(text, { maxDepth: 64, lenient });

function refusal(text: string, lenient = false): InvalidMessageError {
  try {
    parse(text, lenient);
  } catch (error) {
    if (error instanceof InvalidMessageError) return error;
    throw error;
  }
  throw new Error('was accepted');
}

describe('parseMessage', () => {
  it('tells the four kinds of messages', () => {
    expect(parse('{"jsonrpc":"2.0","id":0,"method":"m","params":{"a":1}}')).toMatchObject({
      kind: 'request',
      id: '0',
      method: 'm',
    });
    expect(parse('{"jsonrpc":"2.0","method":"m"}')).toMatchObject({ kind: 'notification', method: 'm' });
    expect(parse('{"jsonrpc":"2.0","id":"a","result":{}}')).toMatchObject({ kind: 'result', id: '"a"' });
    expect(parse('{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}')).toMatchObject({
      kind: 'error',
      id: '1',
    });
  });

  it('keeps ids verbatim, and lets equal ones meet', () => {
    const key = (id: string): string => idKey(parse(`{"jsonrpc":"2.0","id":${id},"method":"m"}`).id!);
    expect(key('1')).toBe(key('1.0'));
    expect(key('0')).toBe(key('-0'));
    expect(key('"a"')).toBe(key('"\\u0061"'));
    expect(key('1')).not.toBe(key('"1"'));
    expect(key('9007199254740993')).not.toBe(key('9007199254740992'));
  });

  it.each([
    ['{"jsonrpc":"2.0","id":1', -32700],
    ['{"a":1}{', -32700],
    ['not json', -32700],
    ['[]', -32600],
    ['5', -32600],
    ['{"id":1,"method":"m"}', -32600],
    ['{"jsonrpc":"1.0","id":1,"method":"m"}', -32600],
    ['{"jsonrpc":"2.0","id":null,"method":"m"}', -32600],
    ['{"jsonrpc":"2.0","id":{},"method":"m"}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":5}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"m","params":[]}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"m","result":{}}', -32600],
    ['{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', -32600],
    ['{"jsonrpc":"2.0","id":1,"result":5}', -32600],
    ['{"jsonrpc":"2.0","id":1,"error":"x"}', -32600],
    ['{"jsonrpc":"2.0","id":null,"error":{}}', -32600],
    ['{"jsonrpc":"2.0","id":1}', -32600],
    ['{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a","name":"b"}}', -32600],
  ] as const)('refuses %s with %i', (text, code) => {
    expect(refusal(text).code).toBe(code);
  });

  it('names the id in a refusal whenever it could be read', () => {
    expect(refusal('{"jsonrpc":"1.0","id":"x","method":"m"}').id).toBe('"x"');
    expect(refusal('{"jsonrpc":"2.0","id":7}').id).toBe('7');
    expect(refusal('{').id).toBeUndefined();
  });

  it('C4 reads what real servers send when it is lenient', () => {
    const text = '{"error":{"code":-32600,"message":"Missing ID field"},"id":null}';
    expect(refusal(text).code).toBe(-32600);
    expect(parse(text, true)).toMatchObject({ kind: 'error' });
    expect(parse(text, true).id).toBeUndefined();
    expect(refusal('{"jsonrpc":"1.0","id":1,"result":{}}', true).code).toBe(-32600);
  });

  it('C12 takes any payload and refuses only what is too deep', () => {
    fc.assert(
      fc.property(jsonText, jsonText, (a, b) => {
        const message = parse(
          `{"jsonrpc":"2.0","id":1,"method":"m","params":{"arguments":${a},"_meta":{"k":${b}}}}`,
        );
        expect(metaOf(message)?.members).toHaveLength(1);
        expect(paramString(message, 'arguments')).toBe(
          a.startsWith('"') ? (JSON.parse(a) as string) : undefined,
        );
      }),
    );
    const deep = `{"jsonrpc":"2.0","id":1,"result":{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}}`;
    expect(refusal(deep)).toMatchObject({
      code: -32600,
      message: expect.stringContaining('nesting deeper than 64'),
    });
    expect(parseMessage(deep, { maxDepth: 20_000 }).kind).toBe('result');
  });
});

describe('printed messages', () => {
  it('are read back as what they were', () => {
    expect(parse(printRequest('"a"', 'm', '{"x":1.0}'))).toMatchObject({
      kind: 'request',
      id: '"a"',
      method: 'm',
    });
    expect(parse(printRequest('0', 'm"\n')).method).toBe('m"\n');
    expect(parse(printNotification('n')).kind).toBe('notification');
    expect(parse(printNotification('n', '{}')).params).toBeDefined();
    expect(parse(printResult('1', '{}')).kind).toBe('result');
    expect(parse(printError('1', -32000, 'quote " and \u2028', '[1.10]')).kind).toBe('error');
    expect(printError(undefined, 1, 'x')).toBe('{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}');
  });
});

import { describe, expect, it } from 'vitest';
import { legacyResultToModern, modernResultToLegacy, resultTypeOf } from '../../../src/translation/result.js';
import { FRAGILE, editedResult, resultMessage } from './wire.js';

const INFO = 'io.modelcontextprotocol/serverInfo';
const toLegacy = (result: string, method: string): string =>
  editedResult(result, (m, d) => modernResultToLegacy(m, d, method));
const toModern = (result: string, method: string, serverInfo?: string): string =>
  editedResult(result, (m, d) =>
    legacyResultToModern(m, d, method, serverInfo === undefined ? {} : { serverInfo }),
  );

describe('resultTypeOf', () => {
  it('X8 tells the type, and never mistakes a non-string for a known one', () => {
    expect(resultTypeOf(resultMessage('{}'))).toBeUndefined();
    expect(resultTypeOf(resultMessage('{"resultType":"input_required"}'))).toBe('input_required');
    expect(resultTypeOf(resultMessage('{"resultType":["complete"]}'))).toBe('["complete"]');
    expect(resultTypeOf(resultMessage('{"resultType":null}'))).toBe('null');
  });
});

describe('modernResultToLegacy', () => {
  it('X8 X9 C13 removes era members at result level only', () => {
    const payload = '"structuredContent":{"ttlMs":5,"resultType":"mine","cacheScope":"public"}';
    expect(
      toLegacy(`{"resultType":"complete",${payload},"ttlMs":1,"cacheScope":"public"}`, 'tools/call'),
    ).toBe(`{${payload}}`);
  });

  it('X9 C13 removes them from every cacheable result, reserved _meta included', () => {
    for (const method of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']) {
      const result = `{"_meta":{"${INFO}":{"name":"s","version":"1"}},"ttlMs":1,"x":[],"cacheScope":"public","resultType":"complete"}`;
      expect(toLegacy(result, method)).toBe('{"x":[]}');
    }
  });

  it("X9 X32 leaves a vendor method's own members alone, except the type every modern result has", () => {
    expect(toLegacy('{"resultType":"complete","ttlMs":5}', 'vendor/lease')).toBe('{"ttlMs":5}');
  });

  it('X9 C12 leaves everything else byte for byte', () => {
    const rest = ` "structuredContent" : ${FRAGILE} , "_meta":{"v":${FRAGILE}} `;
    expect(toLegacy(`{"resultType":"complete",${rest}}`, 'tools/call')).toBe(`{${rest.trimStart()}}`);
  });
});

describe('legacyResultToModern', () => {
  it('X8 adds "complete" to every result, an empty one included', () => {
    expect(toModern('{}', 'tools/call')).toBe('{"resultType":"complete"}');
    expect(toModern('{"resultType":"mine"}', 'tools/call')).toBe('{"resultType":"complete"}');
  });

  it('X9 C13 adds caching hints on the six cacheable results and nowhere else', () => {
    const hints = '"resultType":"complete","ttlMs":0,"cacheScope":"private"';
    for (const method of [
      'server/discover',
      'tools/list',
      'prompts/list',
      'resources/list',
      'resources/templates/list',
      'resources/read',
    ]) {
      expect(toModern('{}', method)).toBe(`{${hints}}`);
    }
    expect(toModern('{"messages":[]}', 'prompts/get')).toBe('{"messages":[],"resultType":"complete"}');
  });

  it('X9 keeps valid hints of a server, replaces unusable ones, never upgrades', () => {
    expect(toModern('{"ttlMs":5,"cacheScope":"public"}', 'tools/list')).toBe(
      '{"ttlMs":5,"cacheScope":"public","resultType":"complete"}',
    );
    for (const bad of ['-1', '"5"', 'null', '1e400']) {
      expect(toModern(`{"ttlMs":${bad},"cacheScope":"shared"}`, 'tools/list')).toBe(
        '{"ttlMs":0,"cacheScope":"private","resultType":"complete"}',
      );
    }
  });

  it('X5 replaces reserved _meta of a legacy server with what is known of it', () => {
    const info = '{"name":"s","version":"1"}';
    expect(toModern('{}', 'x', info)).toBe(`{"resultType":"complete","_meta":{"${INFO}":${info}}}`);
    expect(toModern(`{"_meta":{"${INFO}":0,"k":1}}`, 'x', info)).toBe(
      `{"_meta":{"${INFO}":${info},"k":1},"resultType":"complete"}`,
    );
    expect(toModern(`{"_meta":{"${INFO}":0}}`, 'x')).toBe('{"resultType":"complete"}');
    expect(toModern(`{"_meta":null}`, 'x', info)).toBe(
      `{"_meta":{"${INFO}":${info}},"resultType":"complete"}`,
    );
  });
});

import { describe, expect, it } from 'vitest';
import { legacyErrorToModern, modernErrorToLegacy } from '../../../src/translation/error.js';

describe('modernErrorToLegacy', () => {
  it('X12 turns "resource not found" back into -32002, on resources/read with a uri only', () => {
    const data = '{"uri":"file:///x","n":1.0}';
    expect(modernErrorToLegacy(-32602, 'no', data, 'resources/read')).toEqual({
      code: -32002,
      text: 'no',
      data,
    });
    for (const [other, method] of [
      [data, 'tools/call'],
      ['{"uri":5}', 'resources/read'],
      ['"file:///x"', 'resources/read'],
      [undefined, 'resources/read'],
    ] as const) {
      expect(modernErrorToLegacy(-32602, 'no', other, method).code).toBe(-32602);
    }
  });

  it('X13 names the missing capabilities', () => {
    const data = '{"requiredCapabilities":{"elicitation":{"url":{}},"sampling":{},"x":1}}';
    expect(modernErrorToLegacy(-32021, 'missing', data, 'tools/call')).toEqual({
      code: -32603,
      text: 'The server needs client capabilities that this client does not declare: elicitation.url, sampling, x',
      data: `{"upstreamError":{"code":-32021,"message":"missing","data":${data}}}`,
    });
  });

  it('X13 names the versions the server supports', () => {
    const data = '{"supported":["2026-07-28",5],"requested":"x"}';
    expect(modernErrorToLegacy(-32022, 'bad', data, 'tools/call')).toMatchObject({
      code: -32603,
      text: expect.stringContaining('it supports 2026-07-28'),
    });
  });

  it('X13 lets no code of the modern range through, with or without usable data', () => {
    for (const code of [-32020, -32021, -32022, -32042, -32099]) {
      for (const data of [undefined, '{}', '[]', 'null', '{"supported":{},"requiredCapabilities":[]}']) {
        expect(modernErrorToLegacy(code, 'm', data, 'tools/call').code).toBe(-32603);
      }
    }
  });

  it('X13 passes every other error untouched', () => {
    for (const code of [-32000, -32001, -32019, -32100, -32700, -32601, -32602, 0, 1, 404]) {
      expect(modernErrorToLegacy(code, 't', '1.10', 'tools/call')).toEqual({ code, text: 't', data: '1.10' });
      expect(modernErrorToLegacy(code, 't', undefined, 'tools/call')).toEqual({ code, text: 't' });
    }
  });
});

describe('legacyErrorToModern', () => {
  it('X12 turns -32002 into -32602 on resources/read, and hides it elsewhere', () => {
    expect(legacyErrorToModern(-32002, 'no', '{"uri":"u"}', 'resources/read')).toEqual({
      code: -32602,
      text: 'no',
      data: '{"uri":"u"}',
    });
    expect(legacyErrorToModern(-32002, 'Server not initialized', undefined, 'tools/call')).toEqual({
      code: -32603,
      text: 'Server not initialized',
      data: '{"upstreamError":{"code":-32002,"message":"Server not initialized"}}',
    });
  });

  it('X13 keeps legacy errors out of the range the modern specification reserves', () => {
    for (const code of [-32020, -32042, -32099]) {
      expect(legacyErrorToModern(code, 'a "b"', '{"n":1.0}', 'tools/call')).toEqual({
        code: -32603,
        text: 'a "b"',
        data: `{"upstreamError":{"code":${code},"message":"a \\"b\\"","data":{"n":1.0}}}`,
      });
    }
    for (const code of [-32000, -32019, -32100, -32601, 7]) {
      expect(legacyErrorToModern(code, 't', undefined, 'tools/call')).toEqual({ code, text: 't' });
    }
  });
});

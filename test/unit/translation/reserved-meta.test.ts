import { describe, expect, it } from 'vitest';
import {
  reservedMeta,
  reservedMetaString,
  setRequestMeta,
  stripReservedMeta,
} from '../../../src/translation/reserved-meta.js';
import { retokenRequest } from '../../../src/translation/progress.js';
import { FRAGILE, edited, editedParams, editedResult, notificationMessage, requestMessage } from './wire.js';

const P = 'io.modelcontextprotocol/';
const MODERN = { protocolVersion: '2026-07-28', capabilities: '{"roots":{}}' };
const SET = `"${P}protocolVersion":"2026-07-28","${P}clientCapabilities":{"roots":{}}`;

describe('stripReservedMeta', () => {
  it('X5 removes exactly the reserved keys', () => {
    const kept = `"progressToken":7,"x/y": ${FRAGILE} ,"${P}related-task":{"taskId":"t"},"traceparent":"00-1"`;
    const params = `{"name":"t","_meta":{"${P}protocolVersion":"","${P}clientInfo":{"name":"c"},${kept},"${P}logLevel":42}}`;
    expect(editedParams(params, stripReservedMeta)).toBe(`{"name":"t","_meta":{${kept}}}`);
  });

  it('X5 removes _meta when only reserved keys were in it', () => {
    const meta = `{"${P}clientCapabilities":{}, "${P}protocolVersion":"2026-07-28"}`;
    expect(editedParams(`{"a":1,"_meta":${meta}}`, stripReservedMeta)).toBe('{"a":1}');
    expect(editedParams(`{"_meta":${meta} , "a":1}`, stripReservedMeta)).toBe('{"a":1}');
    expect(editedParams(`{"_meta":${meta}}`, stripReservedMeta)).toBe('{}');
  });

  it('X5 leaves a message without reserved keys byte for byte', () => {
    for (const params of ['{ "_meta" : { } }', '{"_meta":{"progressToken":0}}', '{"_meta":null}', '{ }']) {
      expect(editedParams(params, stripReservedMeta)).toBe(params);
    }
  });

  it('X5 strips results and notifications, and nothing in the payload', () => {
    const inner = `{"${P}serverInfo":1}`;
    expect(
      editedResult(`{"structuredContent":${inner},"_meta":{"${P}serverInfo":{},"k":1}}`, stripReservedMeta),
    ).toBe(`{"structuredContent":${inner},"_meta":{"k":1}}`);
    const note = notificationMessage('n', `{"_meta":{"${P}subscriptionId":"1"},"uri":"u"}`);
    expect(edited(note, stripReservedMeta)).toBe('{"jsonrpc":"2.0","method":"n","params":{"uri":"u"}}');
  });
});

describe('setRequestMeta', () => {
  const set = (params: string, meta: Parameters<typeof setRequestMeta>[2] = MODERN): string =>
    editedParams(params, (message, draft) => setRequestMeta(message, draft, meta));

  it('X5 creates params and _meta when missing', () => {
    expect(edited(requestMessage('tools/list'), (m, d) => setRequestMeta(m, d, MODERN))).toBe(
      `{"jsonrpc":"2.0","id":0,"method":"tools/list","params":{"_meta":{${SET}}}}`,
    );
    expect(set('{}')).toBe(`{"_meta":{${SET}}}`);
    expect(set('{"cursor":"c"}')).toBe(`{"cursor":"c","_meta":{${SET}}}`);
    expect(set('{"_meta":null}')).toBe(`{"_meta":{${SET}}}`);
    expect(set('{"_meta":{ }}')).toBe(`{"_meta":{${SET} }}`);
  });

  it('X5 replaces reserved keys and keeps the others', () => {
    expect(
      set(`{"_meta":{"progressToken":0,"${P}protocolVersion":42,"${P}logLevel":"debug","k":${FRAGILE}}}`),
    ).toBe(
      `{"_meta":{"progressToken":0,"${P}protocolVersion":"2026-07-28","k":${FRAGILE},"${P}clientCapabilities":{"roots":{}}}}`,
    );
  });

  it('X5 writes clientInfo and logLevel when given', () => {
    expect(set('{}', { ...MODERN, clientInfo: '{"name":"c"}', logLevel: 'info' })).toBe(
      `{"_meta":{"${P}protocolVersion":"2026-07-28","${P}clientInfo":{"name":"c"},"${P}clientCapabilities":{"roots":{}},"${P}logLevel":"info"}}`,
    );
  });

  it('X5 composes with stripping and with a new progress token, in any order', () => {
    const params = `{"_meta":{"${P}protocolVersion":"x","progressToken":"a"}}`;
    const steps = [
      stripReservedMeta,
      (m: never, d: never) => setRequestMeta(m, d, MODERN),
      (m: never, d: never) => retokenRequest(m, d, '9'),
    ] as ((m: unknown, d: unknown) => void)[];
    for (const order of [
      [0, 1, 2],
      [2, 0, 1],
      [2, 1],
      [0, 2, 1],
    ]) {
      const printed = editedParams(params, (m, d) => order.forEach((i) => steps[i]!(m, d)));
      expect(JSON.parse(printed)).toEqual({
        _meta: {
          [`${P}protocolVersion`]: '2026-07-28',
          progressToken: 9,
          [`${P}clientCapabilities`]: { roots: {} },
        },
      });
    }
    const only = `{"_meta":{"${P}protocolVersion":"x"}}`;
    expect(
      editedParams(only, (m, d) => {
        stripReservedMeta(m, d);
        setRequestMeta(m, d, MODERN);
      }),
    ).toBe(`{"_meta":{${SET}}}`);
  });

  it('X5 reads reserved keys back', () => {
    const request = requestMessage('m', `{"_meta":{"${P}protocolVersion":"v","${P}clientInfo":{"n":1.0}}}`);
    expect(reservedMetaString(request, 'protocolVersion')).toBe('v');
    expect(reservedMetaString(request, 'clientInfo')).toBeUndefined();
    expect(reservedMeta(request, 'clientInfo')).toBe('{"n":1.0}');
    expect(reservedMeta(request, 'logLevel')).toBeUndefined();
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memberOf, scanInnerObject, valueText } from '../../../src/jsonrpc/json-scan.js';
import { contentToLegacy } from '../../../src/translation/content.js';
import { ALL_LEGACY_FEATURES } from '../../../src/translation/legacy-features.js';
import { setRequestMeta, stripReservedMeta } from '../../../src/translation/reserved-meta.js';
import { legacyResultToModern, modernResultToLegacy } from '../../../src/translation/result.js';
import { structuredContentToLegacy } from '../../../src/translation/structured-content.js';
import { legacyToolsToModern, modernToolsToLegacy } from '../../../src/translation/tools-list.js';
import { type MemberText, jsonText, objectMembers, printMembers } from '../jsonrpc/json-texts.js';
import { FRAGILE, editedParams, editedResult } from './wire.js';

const SERVER_INFO = '{"name":"s","version":"1"}';

/** Members of which none is the era's: payload that has to arrive as it left. */
const payload = objectMembers.filter((members) => members.every(([key]) => !/_meta/.test(key)));

const metaText = fc.option(
  payload.filter((members) => members.length > 0).map((members) => `{${printMembers(members)}}`),
  { nil: undefined },
);

/** The text of an object with payload and, perhaps, a `_meta` with foreign keys somewhere in it. */
const payloadObject = fc.tuple(payload, metaText, fc.nat()).map(([members, meta, at]) => {
  const all: MemberText[] = [...members];
  if (meta !== undefined) all.splice(at % (all.length + 1), 0, ['"_meta"', meta]);
  return `{${printMembers(all)}}`;
});

describe('C12 payload fidelity', () => {
  it('C12 X5 X8 X9 a legacy result comes back from the modern era as it was', () => {
    fc.assert(
      fc.property(
        payloadObject,
        fc.constantFrom('tools/call', 'tools/list', 'x/y'),
        fc.boolean(),
        (result, method, named) => {
          const options = named ? { serverInfo: SERVER_INFO } : {};
          const modern = editedResult(result, (m, d) => legacyResultToModern(m, d, method, options));
          expect(JSON.parse(modern)).toMatchObject({ resultType: 'complete' });
          expect(editedResult(modern, (m, d) => modernResultToLegacy(m, d, method))).toBe(result);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('C12 X5 a request comes back from the modern era as it was', () => {
    fc.assert(
      fc.property(payloadObject, fc.option(jsonText, { nil: undefined }), (params, clientInfo) => {
        const modern = editedParams(params, (m, d) =>
          setRequestMeta(m, d, {
            protocolVersion: '2026-07-28',
            capabilities: FRAGILE,
            ...(clientInfo !== undefined && { clientInfo }),
          }),
        );
        expect(editedParams(modern, stripReservedMeta)).toBe(params);
      }),
      { numRuns: 1_000 },
    );
  });

  it('C12 X10 structured content is carried or wrapped as the very text', () => {
    fc.assert(
      fc.property(payload, jsonText, fc.boolean(), (members, value, wrapped) => {
        const all: MemberText[] = [['"structuredContent"', value], ...members, ['"content"', ' [ {} ] ']];
        const result = `{"resultType":"complete",${printMembers(all)}}`;
        const legacy = editedResult(result, (m, d) => {
          modernResultToLegacy(m, d, 'tools/call');
          structuredContentToLegacy(m, d, wrapped, ALL_LEGACY_FEATURES);
          contentToLegacy(m, d, { ...ALL_LEGACY_FEATURES, audio: false });
        });
        const expected = wrapped || !value.startsWith('{') ? `{"result":${value}}` : value;
        expect(legacy).toBe(
          `{${printMembers([['"structuredContent"', expected], ...members, ['"content"', ' [ {} ] ']])}}`,
        );
      }),
      { numRuns: 500 },
    );
  });

  it('C12 X7 X10 X11 tools keep every member that no rule is about', () => {
    fc.assert(
      fc.property(fc.array(payload, { maxLength: 3 }), (tools) => {
        const texts = tools.map(
          (members, i) =>
            `{${printMembers([['"name"', `"t${i}"`], ['"inputSchema"', '{"type":"object"}'], ...members])}}`,
        );
        const result = `{"tools":[${texts.join(' , ')}]}`;
        expect(editedResult(result, legacyToolsToModern)).toBe(result);
        expect(editedResult(result, modernToolsToLegacy)).toBe(result);
      }),
    );
  });

  it('C12 the fragile payload of the case arrives in every place it can stand in', () => {
    const result = `{"resultType":"complete","content":[],"structuredContent":${FRAGILE},"_meta":{"x/y":${FRAGILE}},"future":${FRAGILE}}`;
    const legacy = editedResult(result, (m, d) => {
      modernResultToLegacy(m, d, 'tools/call');
      structuredContentToLegacy(m, d, false, ALL_LEGACY_FEATURES);
    });
    expect(legacy).toBe(result.replace('"resultType":"complete",', ''));
    const params = editedParams(`{"name":"t","arguments":${FRAGILE},"_meta":{"x/y":${FRAGILE}}}`, (m, d) =>
      setRequestMeta(m, d, { protocolVersion: '2026-07-28', capabilities: '{}' }),
    );
    const scanned = scanInnerObject(params, 0, { _meta: {} });
    expect(valueText(params, memberOf(scanned, 'arguments')!)).toBe(FRAGILE);
    expect(valueText(params, memberOf(memberOf(scanned, '_meta')?.object, 'x/y')!)).toBe(FRAGILE);
  });
});

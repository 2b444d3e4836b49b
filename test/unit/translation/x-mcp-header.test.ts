import { describe, expect, it } from 'vitest';
import { headerAnnotations } from '../../../src/translation/x-mcp-header.js';

const of = (schema: unknown) => headerAnnotations(JSON.stringify(schema));
const property = (schema: unknown) => of({ type: 'object', properties: { p: schema } });

describe('headerAnnotations', () => {
  it('X7 finds annotations along chains of properties', () => {
    expect(
      of({
        type: 'object',
        properties: {
          region: { type: 'string', 'x-mcp-header': 'Region' },
          deep: {
            properties: {
              n: { type: 'integer', 'x-mcp-header': 'N-1' },
              plain: { type: 'number' },
              __proto__x: { properties: { b: { 'x-mcp-header': 'B', type: 'boolean' } } },
            },
          },
        },
      }),
    ).toEqual({
      ok: true,
      params: [
        { header: 'Region', path: ['region'], type: 'string' },
        { header: 'N-1', path: ['deep', 'n'], type: 'integer' },
        { header: 'B', path: ['deep', '__proto__x', 'b'], type: 'boolean' },
      ],
    });
  });

  it('X7 takes a schema without annotations as it is, a boolean one included', () => {
    for (const schema of [
      {},
      true,
      { type: 'object', properties: { a: true, b: null } },
      { properties: [] },
    ]) {
      expect(of(schema)).toEqual({ ok: true, params: [] });
    }
  });

  it('X7 is not fooled by properties and data that are called x-mcp-header', () => {
    expect(
      of({
        properties: { 'x-mcp-header': { type: 'object' }, a: { const: { 'x-mcp-header': 'A' } } },
        default: { 'x-mcp-header': 'D' },
        enum: [{ 'x-mcp-header': 'E' }],
        examples: [{ 'x-mcp-header': 'E' }],
        required: ['x-mcp-header'],
      }),
    ).toEqual({ ok: true, params: [] });
  });

  it('X7 sees through escapes in the keyword', () => {
    expect(
      headerAnnotations('{"properties":{"a":{"type":"string","x-mcp\\u002dheader":"A"}}}'),
    ).toMatchObject({
      params: [{ header: 'A' }],
    });
  });

  it.each([
    ['empty', { type: 'string', 'x-mcp-header': '' }],
    ['no string', { type: 'string', 'x-mcp-header': 1 }],
    ['null', { type: 'string', 'x-mcp-header': null }],
    ['a space', { type: 'string', 'x-mcp-header': 'My Region' }],
    ['a delimiter', { type: 'string', 'x-mcp-header': 'Region:' }],
    ['a line break', { type: 'string', 'x-mcp-header': 'A\r\nB: c' }],
    ['no ASCII', { type: 'string', 'x-mcp-header': 'Région' }],
    ['type number', { type: 'number', 'x-mcp-header': 'N' }],
    ['type object', { type: 'object', 'x-mcp-header': 'O' }],
    ['type array', { type: 'array', 'x-mcp-header': 'O' }],
    ['several types', { type: ['string', 'null'], 'x-mcp-header': 'O' }],
    ['no type', { 'x-mcp-header': 'O' }],
  ])('X7 refuses %s', (_, schema) => {
    expect(property(schema)).toEqual({ ok: false, reason: expect.stringContaining('x-mcp-header at "p"') });
  });

  const annotated = { type: 'string', 'x-mcp-header': 'A' };
  it.each([
    ['the root', { ...annotated, type: 'object' }],
    ['items', { properties: { a: { items: annotated } } }],
    ['a list of items', { properties: { a: { items: [annotated] } } }],
    ['prefixItems', { properties: { a: { prefixItems: [annotated] } } }],
    ['contains', { properties: { a: { contains: annotated } } }],
    ['additionalProperties', { additionalProperties: annotated }],
    ['patternProperties', { patternProperties: { a: annotated } }],
    ['propertyNames', { propertyNames: annotated }],
    ['allOf', { allOf: [{ properties: { a: annotated } }] }],
    ['anyOf', { properties: { a: { anyOf: [annotated] } } }],
    ['oneOf', { oneOf: [{ properties: { a: annotated } }] }],
    ['not', { not: { properties: { a: annotated } } }],
    ['if', { if: { properties: { a: annotated } } }],
    ['then', { then: { properties: { a: annotated } } }],
    ['else', { else: { properties: { a: annotated } } }],
    ['dependentSchemas', { dependentSchemas: { a: { properties: { a: annotated } } } }],
    ['dependencies', { dependencies: { a: { properties: { a: annotated } } } }],
    ['$defs', { $defs: { a: annotated }, properties: { a: { $ref: '#/$defs/a' } } }],
    ['definitions', { definitions: { a: { properties: { a: annotated } } } }],
  ])('X7 refuses an annotation under %s', (_, schema) => {
    expect(of(schema)).toMatchObject({ ok: false });
  });

  it('X7 refuses two annotations that differ in case only', () => {
    expect(
      of({ properties: { a: annotated, b: { properties: { c: { ...annotated, 'x-mcp-header': 'a' } } } } }),
    ).toEqual({ ok: false, reason: 'x-mcp-header at "b.c" repeats the header name "a"' });
  });

  it('X7 gives up on a schema nested beyond reason instead of on itself', () => {
    const nested = '{"not":'.repeat(5_000) + '{"x-mcp-header":"A"}' + '}'.repeat(5_000);
    expect(headerAnnotations(nested)).toMatchObject({ ok: false });
  });
});

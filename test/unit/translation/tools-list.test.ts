import { CallToolResultSchema, ListToolsResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { describe, expect, it } from 'vitest';
import { modernResultToLegacy } from '../../../src/translation/result.js';
import { structuredContentToLegacy } from '../../../src/translation/structured-content.js';
import { ALL_LEGACY_FEATURES } from '../../../src/translation/legacy-features.js';
import {
  type LegacyToolList,
  legacyToolsToModern,
  modernToolsToLegacy,
} from '../../../src/translation/tools-list.js';
import { FRAGILE, editedResult } from './wire.js';

function toLegacy(tools: string): { text: string; list: LegacyToolList } {
  let list: LegacyToolList | undefined;
  const text = editedResult(
    `{"resultType":"complete","tools":${tools},"ttlMs":5,"cacheScope":"public"}`,
    (m, d) => {
      modernResultToLegacy(m, d, 'tools/list');
      list = modernToolsToLegacy(m, d);
    },
  );
  return { text, list: list! };
}

const tool = (members: string, name = 't'): string =>
  `{"name":"${name}","inputSchema":{"type":"object"}${members}}`;

describe('modernToolsToLegacy', () => {
  it('X10 C12 C13 leaves what a legacy client can read byte for byte', () => {
    const tools = `[ {"name" : "a","inputSchema": { "type":"object","properties":{"p":${FRAGILE}}},"outputSchema":{"type":"object","properties":{"q":{}}},"_meta":${FRAGILE}}, ${tool('')} ]`;
    const { text, list } = toLegacy(tools);
    expect(text).toBe(`{"tools":${tools}}`);
    expect(list).toEqual({ wrapped: new Set(), headers: new Map(), omitted: [] });
  });

  it('X10 C14 a list with every kind of schema is accepted by the legacy SDK, and so are the results', () => {
    const node = '{"type":"object","properties":{"next":{"$ref":"#/$defs/n"},"any":true}}';
    const outputs: Record<string, [string, unknown]> = {
      array: ['{"type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":' + node + '}}', [{ next: {} }]],
      number: ['{"type":"number"}', 4],
      nullable: ['{"type":["object","null"]}', null],
      root: ['{"$ref":"#/$defs/n","$defs":{"n":' + node + '}}', { next: { next: {} } }],
      yes: ['true', 'anything'],
      object: ['{"type":"object","properties":{"a":true,"b":false,"c":{"type":"array"}}}', { a: 1 }],
      object2: [
        '{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","required":[]}',
        {},
      ],
    };
    const names = Object.keys(outputs);
    const { text, list } = toLegacy(
      `[${names.map((name) => tool(`,"outputSchema":${outputs[name]![0]}`, name)).join(',')}]`,
    );
    const parsed = ListToolsResultSchema.parse(JSON.parse(text));
    expect(list.wrapped).toEqual(new Set(['array', 'number', 'nullable', 'root', 'yes']));
    const validator = new AjvJsonSchemaValidator();
    for (let round = 0; round < 2; round++) {
      for (const { name, outputSchema } of parsed.tools) {
        const validate = validator.getValidator(outputSchema as never);
        const printed = editedResult(
          `{"resultType":"complete","content":[],"structuredContent":${JSON.stringify(outputs[name]![1])}}`,
          (m, d) => {
            modernResultToLegacy(m, d, 'tools/call');
            structuredContentToLegacy(m, d, list.wrapped.has(name), ALL_LEGACY_FEATURES);
          },
        );
        const result = CallToolResultSchema.parse(JSON.parse(printed));
        expect([name, validate(result.structuredContent)]).toMatchObject([name, { valid: true }]);
      }
    }
  });

  it.each([
    [
      'a boolean property',
      '{"type":"object","properties":{"a":true,"b":false}}',
      '{"type":"object","properties":{"a":{},"b":{"not":{}}}}',
    ],
    [
      'a nested boolean property, which no client looks at',
      '{"type":"object","properties":{"a":{"properties":{"b":true}}}}',
      undefined,
    ],
    ['no type', '{"properties":{}}', '{"properties":{},"type":"object"}'],
    ['a list of types', '{"type":["null","object"]}', '{"type":"object"}'],
    ['no schema but true', 'true', '{"type":"object"}'],
    ['properties that are none', '{"type":"object","properties":null}', '{"type":"object"}'],
    [
      'a property that is no schema',
      '{"type":"object","properties":{"a":null,"b":1}}',
      '{"type":"object","properties":{"a":{},"b":{}}}',
    ],
    ['required that is no list', '{"required":true,"type":"object"}', '{"type":"object"}'],
    ['required that lists no names', '{"type":"object","required":["a",1]}', '{"type":"object"}'],
  ])('X10 C14 an inputSchema with %s is made acceptable', (_, schema, expected = schema) => {
    const { text, list } = toLegacy(`[{"name":"t","inputSchema":${schema}}]`);
    expect(text).toBe(`{"tools":[{"name":"t","inputSchema":${expected}}]}`);
    expect(list.omitted).toEqual([]);
    ListToolsResultSchema.parse(JSON.parse(text));
  });

  it.each([
    ['accepts no object', '{"name":"t","inputSchema":{"type":"string"}}'],
    ['accepts nothing', '{"name":"t","inputSchema":false}'],
    ['is missing', '{"name":"t"}'],
    ['is null', '{"name":"t","inputSchema":null}'],
    ['has types without object', '{"name":"t","inputSchema":{"type":["array","null"]}}'],
  ])('X10 C14 a tool whose inputSchema %s is left out, the others stay', (_, bad) => {
    const { text, list } = toLegacy(`[${tool('', 'a')} , ${bad} , ${tool('', 'b')}]`);
    expect(text).toBe(`{"tools":[${tool('', 'a')} , ${tool('', 'b')}]}`);
    expect(list.omitted).toEqual([{ name: 't', reason: 'its inputSchema accepts no object' }]);
  });

  it('X10 an outputSchema that is no schema is dropped', () => {
    expect(toLegacy(`[${tool(',"outputSchema":null')}]`).text).toBe(`{"tools":[${tool('')}]}`);
  });

  it('X7 leaves tools with an invalid annotation out, and remembers valid ones', () => {
    const annotated = (type: string, name: string): string =>
      `{"name":"${name}","inputSchema":{"type":"object","properties":{"p":{"type":"${type}","x-mcp-header":"P"}}}}`;
    const { text, list } = toLegacy(`[${annotated('number', 'bad')},${annotated('string', 'good')}]`);
    expect(text).toBe(`{"tools":[${annotated('string', 'good')}]}`);
    expect(list.omitted).toEqual([{ name: 'bad', reason: expect.stringContaining('x-mcp-header at "p"') }]);
    expect(list.headers).toEqual(new Map([['good', [{ header: 'P', path: ['p'], type: 'string' }]]]));
  });

  it('X10 leaves out what is no tool, alone or among others', () => {
    expect(toLegacy('[null]').text).toBe('{"tools":[]}');
    expect(toLegacy(`[5,${tool('')},{"name":1}]`).text).toBe(`{"tools":[${tool('')}]}`);
    expect(toLegacy('{}').text).toBe('{"tools":{}}');
  });

  it('X11 lets no claim about tasks through', () => {
    expect(toLegacy(`[${tool(',"execution":{"taskSupport":"required"}')}]`).text).toBe(
      `{"tools":[${tool('')}]}`,
    );
  });
});

describe('legacyToolsToModern', () => {
  const toModern = (tools: string) => {
    let omitted: unknown;
    const text = editedResult(`{"tools":${tools}}`, (m, d) => {
      ({ omitted } = legacyToolsToModern(m, d));
    });
    return { text, omitted };
  };

  it('X11 takes the task support away and keeps the rest', () => {
    expect(
      toModern(
        `[${tool(',"execution":{"taskSupport":"optional"},"x":1.0')},${tool(',"execution":{"taskSupport":"forbidden","y":1}')}]`,
      ),
    ).toEqual({ text: `{"tools":[${tool(',"x":1.0')},${tool(',"execution":{"y":1}')}]}`, omitted: [] });
  });

  it('X11 leaves out a tool that runs as a task only', () => {
    expect(toModern(`[${tool(',"execution":{"taskSupport":"required"}', 'task')}, ${tool('')}]`)).toEqual({
      text: `{"tools":[${tool('')}]}`,
      omitted: [{ name: 'task', reason: 'it runs as a task only' }],
    });
  });

  it('X11 C12 leaves other tools byte for byte', () => {
    const tools = `[ {"name":"a","inputSchema":${FRAGILE},"outputSchema":{"type":"array"}} ]`;
    expect(toModern(tools).text).toBe(`{"tools":${tools}}`);
  });
});

import { AjvJsonSchemaValidator as DialectAwareValidator } from '@modelcontextprotocol/client/validators/ajv';
import { CfWorkerJsonSchemaValidator } from '@modelcontextprotocol/client/validators/cf-worker';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { describe, expect, it } from 'vitest';
import { ALL_LEGACY_FEATURES } from '../../../src/translation/legacy-features.js';
import {
  needsWrap,
  structuredContentToLegacy,
  wrapOutputSchema,
  wrapStructuredContent,
} from '../../../src/translation/structured-content.js';
import { FRAGILE, editedResult } from './wire.js';

describe('needsWrap', () => {
  it('X10 spares exactly the schemas whose root type is "object"', () => {
    for (const schema of [
      '{"type":"object"}',
      '{"properties":{}, "type" : "object"}',
      '{"type":"\\u006fbject"}',
    ]) {
      expect(needsWrap(schema)).toBe(false);
    }
    for (const schema of [
      '{}',
      'true',
      'false',
      '{"type":"array"}',
      '{"type":["object"]}',
      '{"type":["object","null"]}',
      '{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}',
      '{"anyOf":[{"type":"object"}]}',
      '{"properties":{"type":"object"}}',
    ]) {
      expect(needsWrap(schema)).toBe(true);
    }
  });
});

const NODE = { type: 'object', properties: { children: { type: 'array', items: { $ref: '#/$defs/node' } } } };
const V7 = 'http://json-schema.org/draft-07/schema#';
const V2020 = 'https://json-schema.org/draft/2020-12/schema';

/** Schemas, values they accept, values they refuse. */
const CASES: [string, unknown, unknown[], unknown[]][] = [
  ['an array', { type: 'array', items: { type: 'integer' } }, [[], [1]], [['x'], {}, null]],
  ['a number', { type: 'number' }, [1.5], ['1.5']],
  ['null', { type: 'null' }, [null], [0]],
  ['object or null', { type: ['object', 'null'] }, [{}, null], [[]]],
  ['anything', {}, [null, 1, []], []],
  ['true', true, [null, {}], []],
  ['false', false, [], [null, {}]],
  [
    'references to its own definitions',
    { type: 'array', items: { $ref: '#/$defs/node' }, $defs: { node: NODE } },
    [[{ children: [{ children: [] }] }]],
    [[{ children: [{ children: [3] }] }], [3]],
  ],
  [
    'a reference to its own root',
    { $schema: V2020, anyOf: [{ type: 'integer' }, { type: 'array', items: { $ref: '#' } }] },
    [1, [1, [2]]],
    [[1, ['x']], { result: 1 }],
  ],
  [
    'an anchor',
    { type: 'array', items: { $ref: '#leaf' }, $defs: { a: { $anchor: 'leaf', type: 'string' } } },
    [['x']],
    [[1]],
  ],
  [
    'an $id of its own',
    {
      $id: 'https://example.com/list',
      type: 'array',
      items: { $ref: '/list#/$defs/s' },
      $defs: { s: { type: 'string' } },
    },
    [['x']],
    [[1]],
  ],
  [
    'a root reference, as generators write it for draft-07',
    {
      $schema: V7,
      $ref: '#/definitions/Out',
      definitions: { Out: { type: 'array', items: { type: 'string' } } },
    },
    [['x']],
    [[1]],
  ],
  [
    'a root reference in the default dialect',
    { $ref: '#/$defs/node', $defs: { node: NODE } },
    [{ children: [{ children: [] }] }],
    [{ children: [3] }],
  ],
  [
    'a root reference beside allOf',
    { $schema: V7, $ref: '#/definitions/a', allOf: [{ minItems: 1 }], definitions: { a: { type: 'array' } } },
    [[1]],
    [[]],
  ],
];

describe('wrapOutputSchema', () => {
  // One validator for all tools and both lists, as the SDK's clients have it: ids must not collide.
  const validators = [
    new AjvJsonSchemaValidator(),
    new DialectAwareValidator(),
    new CfWorkerJsonSchemaValidator(),
  ];

  it.each([...CASES, ...CASES])('X10 C14 a schema of %s validates wrapped values', (_, schema, good, bad) => {
    const wrapped = JSON.parse(wrapOutputSchema(JSON.stringify(schema)));
    expect(wrapped).toMatchObject({ type: 'object', required: ['result'] });
    for (const validator of validators) {
      const validate = validator.getValidator(wrapped);
      for (const value of good) expect(validate({ result: value })).toMatchObject({ valid: true });
      for (const value of bad) expect(validate({ result: value })).toMatchObject({ valid: false });
      expect(validate({})).toMatchObject({ valid: false });
    }
  });

  it('X10 hoists the dialect and gives the original a base of its own', () => {
    const wrapped = wrapOutputSchema(`{ "$schema":"${V2020}", "type":"array" , "x":1.10}`);
    expect(wrapped).toMatch(
      /^\{"\$schema":"https:\/\/json-schema\.org\/draft\/2020-12\/schema","type":"object","properties":\{"result":\{ "type":"array" , "x":1\.10,"\$id":"https:\/\/mcp-gangway\.invalid\/output-schema\/[0-9a-f]{32}"\}\},"required":\["result"\]\}$/,
    );
  });

  it('X10 keeps an $id that is a base, and extends one that is a fragment only', () => {
    const idOf = (schema: unknown) =>
      JSON.parse(wrapOutputSchema(JSON.stringify(schema))).properties.result.$id;
    expect(idOf({ $id: 'https://example.com/a' })).toBe('https://example.com/a');
    expect(idOf({ $id: '#a' })).toMatch(/^https:.*#a$/);
    expect(idOf({ $id: '' })).toMatch(/^https:/);
  });

  it('X10 gives different schemas different ids, and the same one the same', () => {
    expect(wrapOutputSchema('{"a":1}')).toBe(wrapOutputSchema('{"a":1}'));
    const ids = ['{"a":1}', '{"a":2}'].map((schema) => /invalid[^"]*/.exec(wrapOutputSchema(schema))?.[0]);
    expect(new Set(ids).size).toBe(2);
  });
});

describe('wrapStructuredContent', () => {
  it.each(['[1.0,9007199254740993]', '"x"', 'null', 'false', '0', FRAGILE])(
    'X10 C12 C14 wraps %s',
    (value) => {
      const printed = editedResult(`{"structuredContent":${value}}`, wrapStructuredContent);
      expect(printed).toBe(
        `{"structuredContent":{"result":${value}},"content":[{"type":"text","text":${JSON.stringify(value)}}]}`,
      );
      CallToolResultSchema.parse(JSON.parse(printed));
    },
  );

  it('X10 adds a text block only when content says nothing', () => {
    const said = '"content":[{"type":"text","text":"x"}]';
    expect(editedResult(`{${said},"structuredContent":[]}`, wrapStructuredContent)).toBe(
      `{${said},"structuredContent":{"result":[]}}`,
    );
    for (const nothing of ['[]', '[ ]', 'null', '{}']) {
      expect(editedResult(`{"content":${nothing},"structuredContent":[1]}`, wrapStructuredContent)).toBe(
        '{"content":[{"type":"text","text":"[1]"}],"structuredContent":{"result":[1]}}',
      );
    }
  });

  it('X10 leaves a result without structured content alone', () => {
    for (const result of ['{}', '{"content":[]}', '{"isError":true,"content":[]}']) {
      expect(editedResult(result, wrapStructuredContent)).toBe(result);
    }
  });
});

describe('structuredContentToLegacy', () => {
  const toLegacy = (result: string, wrapped: boolean, features = ALL_LEGACY_FEATURES): string =>
    editedResult(result, (m, d) => structuredContentToLegacy(m, d, wrapped, features));

  it('X10 wraps the values of wrapped tools, objects and errors included', () => {
    const content = '"content":[{"type":"text","text":"t"}]';
    expect(toLegacy(`{${content},"structuredContent":{"a":1},"isError":true}`, true)).toBe(
      `{${content},"structuredContent":{"result":{"a":1}},"isError":true}`,
    );
  });

  it('X10 C14 wraps what no legacy client could parse, whatever the schema says', () => {
    expect(JSON.parse(toLegacy('{"structuredContent":[1]}', false)).structuredContent).toEqual({
      result: [1],
    });
    const plain = `{"structuredContent":${FRAGILE},"content":[]}`;
    expect(toLegacy(plain, false)).toBe(plain);
  });

  it('X15 says it in words to a client without structured content', () => {
    const features = { ...ALL_LEGACY_FEATURES, structuredContent: false };
    expect(toLegacy('{"structuredContent":{"a":1.0},"content":[]}', false, features)).toBe(
      '{"structuredContent":{"a":1.0},"content":[{"type":"text","text":"{\\"a\\":1.0}"}]}',
    );
  });
});

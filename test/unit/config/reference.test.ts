import { readFile } from 'node:fs/promises';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseConfig } from '../../../src/config/config.js';
import { configReference } from '../../../src/config/reference.js';
import { configFileSchema, type SchemaNode } from '../../../src/config/schema-node.js';

describe('JSON Schema', () => {
  const check = new AjvJsonSchemaValidator().getValidator(configFileSchema());

  test.each<[unknown, boolean]>([
    [{}, true],
    [{ $schema: './s.json', listen: '127.0.0.1:1' }, true],
    [{ listen: { port: 1 }, upstreams: { a: { url: 'https://x.example/' } } }, true],
    [
      { upstreams: { a: { url: 'https://x.example/', authorization: { mode: 'static', header: 'x' } } } },
      true,
    ],
    [{ unknown: 1 }, false],
    [{ listen: 5 }, false],
    [{ limits: { rounds: 0 } }, false],
    [{ upstreams: { a: {} } }, false],
    [{ upstreams: { 'a b': { url: 'https://x.example/' } } }, false],
    [{ upstreams: { a: { url: 'https://x.example/', authorization: { mode: 'static' } } } }, false],
  ])('a validator judges %j', (input, valid) => {
    expect(check(input).valid).toBe(valid);
  });

  test('a resolved configuration is valid too', () => {
    expect(check(parseConfig({ upstreams: { a: { url: 'https://x.example/' } } })).valid).toBe(true);
  });

  test('every setting is described, and has a default, is required or is optional on purpose', () => {
    const bare: string[] = [];
    const open: string[] = [];
    walk(configFileSchema(), '', (path, node, required) => {
      if (node.description === undefined) bare.push(path);
      if (node.default === undefined && !required) open.push(path);
    });
    expect(bare).toEqual([]);
    expect(open).toEqual([
      '.$schema',
      '.publicUrl',
      '.upstreams.*.tls.ca',
      '.upstreams.*.timeouts.callMs',
      '.upstreams.*.timeouts.callMaxMs',
      '.defaultUpstream',
      '.cluster',
    ]);
  });
});

describe('docs/configuration.md', () => {
  const file = new URL('../../../docs/configuration.md', import.meta.url);

  test('is what `npm run docs:config` makes', async () => {
    expect(await readFile(file, 'utf8')).toBe(configReference());
  });

  test('shows an example that works', () => {
    const [, example = ''] = /```yaml\n(.*?)```/s.exec(configReference()) ?? [];
    expect(Object.keys(parseConfig(parse(example)).upstreams)).toEqual(['default', 'search']);
  });

  test('has a row for every setting', () => {
    const reference = configReference();
    walk(configFileSchema(), '', (path, node) => {
      const name = path.split('.').at(-1) ?? '';
      if (node.properties === undefined && name !== '$schema' && !path.endsWith('upstreams')) {
        expect(reference).toMatch(
          new RegExp(`^\\| \`(?:[\\w.]+\\.)?${name.replace('$', '\\$')}(?:\\.(?:mode|kind))?\``, 'm'),
        );
      }
    });
  });
});

type Visit = (path: string, node: SchemaNode, required: boolean) => void;

function walk(node: SchemaNode, path: string, visit: Visit): void {
  for (const variant of node.anyOf ?? node.oneOf ?? [node]) {
    for (const [name, member] of Object.entries(variant.properties ?? {})) {
      visit(`${path}.${name}`, member, variant.required?.includes(name) ?? false);
      walk(member, `${path}.${name}`, visit);
    }
    if (typeof variant.additionalProperties === 'object')
      walk(variant.additionalProperties, `${path}.*`, visit);
  }
}

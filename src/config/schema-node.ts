import { z } from 'zod';
import { gatewaySchema } from './schema.js';

/** The part of JSON Schema that the configuration uses. */
export interface SchemaNode {
  type?: string;
  description?: string;
  default?: unknown;
  properties?: Record<string, SchemaNode>;
  required?: string[];
  additionalProperties?: SchemaNode | boolean;
  propertyNames?: SchemaNode;
  items?: SchemaNode;
  anyOf?: SchemaNode[];
  oneOf?: SchemaNode[];
  enum?: string[];
  const?: string;
  minimum?: number;
  maximum?: number;
  format?: string;
  pattern?: string;
}

let root: SchemaNode | undefined;

/** The JSON Schema of a configuration file, with descriptions and defaults; for editors and for our own walks. */
export function configJsonSchema(): SchemaNode {
  root ??= z.toJSONSchema(gatewaySchema, { io: 'input' }) as SchemaNode;
  return root;
}

/** The schema that governs the value at `path`, a union of all that could; undefined where there is none. */
export function nodeAt(path: readonly PropertyKey[], from = configJsonSchema()): SchemaNode | undefined {
  const [key, ...rest] = path;
  if (key === undefined) return from;
  const found = variants(from)
    .map((variant) => child(variant, key))
    .map((next) => (next === undefined ? undefined : nodeAt(rest, next)))
    .filter((node) => node !== undefined);
  return found.length > 1 ? { anyOf: found } : found[0];
}

function child(node: SchemaNode, key: PropertyKey): SchemaNode | undefined {
  if (typeof key === 'number') return node.items;
  const name = String(key);
  if (node.properties !== undefined && Object.hasOwn(node.properties, name)) return node.properties[name];
  return typeof node.additionalProperties === 'object' ? node.additionalProperties : undefined;
}

/** The keys known at `path`, over all variants of a union. */
export function knownKeys(path: readonly PropertyKey[]): string[] {
  const node = nodeAt(path);
  if (node === undefined) return [];
  return [...new Set(variants(node).flatMap((variant) => Object.keys(variant.properties ?? {})))];
}

/** A node itself, or the alternatives it is a union of. */
export function variants(node: SchemaNode): SchemaNode[] {
  return node.anyOf ?? node.oneOf ?? [node];
}

/** What `config schema` prints: the schema with the key by which a file may point to it. */
export function configFileSchema(): SchemaNode {
  const schema = configJsonSchema();
  const pointer: SchemaNode = {
    type: 'string',
    description: 'Where this schema lies; for editors, ignored.',
  };
  return { ...schema, properties: { $schema: pointer, ...schema.properties } };
}

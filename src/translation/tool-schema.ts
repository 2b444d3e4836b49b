/**
 * Tool schemas that every legacy client can read (X10). The legacy schema types `inputSchema` and
 * `outputSchema` more narrowly than JSON Schema does, and clients that validate refuse a whole `tools/list` for
 * one tool outside of it. Such schemas are respelled with the same meaning.
 * @see /specification/2026-07-28/basic#json-schema-usage
 */
import { Draft } from '../jsonrpc/draft.js';
import {
  type Member,
  type ObjectScan,
  kindOf,
  memberOf,
  scanInnerArray,
  scanInnerObject,
  stringValue,
} from '../jsonrpc/json-scan.js';

/** The object form of a boolean schema; an object is returned as it is. */
export function objectSchema(schema: string): string {
  if (schema === 'true') return '{}';
  return schema === 'false' ? '{"not":{}}' : schema;
}

/** X10: whether the schema is an object whose `type` is exactly `"object"`, which the legacy era requires. */
export function isObjectTyped(schema: string): boolean {
  if (!schema.startsWith('{')) return false;
  return stringValue(schema, memberOf(scanInnerObject(schema, 0), 'type')) === 'object';
}

/**
 * X10: an output schema of type object, with the members legacy clients look into made acceptable: boolean
 * property schemas get their object form. The text itself when nothing is wrong with it.
 */
export function legacyObjectSchema(schema: string): string {
  const root = scanInnerObject(schema, 0, { properties: {} });
  const draft = new Draft(schema);
  repair(schema, root, draft);
  return draft.print();
}

/**
 * X10: an input schema for a legacy client. `arguments` is an object in every era, so that `type` can be
 * narrowed to `"object"` without changing what is accepted. Undefined when the schema accepts no object at all
 * or is no schema: such a tool cannot be listed.
 */
export function legacyInputSchema(schema: string): string | undefined {
  const text = objectSchema(schema);
  if (!text.startsWith('{') || schema === 'false') return undefined;
  const root = scanInnerObject(text, 0, { properties: {} });
  const draft = new Draft(text);
  const type = memberOf(root, 'type');
  if (type === undefined) draft.set(root, 'type', '"object"');
  else if (kindOf(text, type) === 'array') {
    const types = scanInnerArray(text, type.start).map((span) => stringValue(text, span));
    if (!types.includes('object')) return undefined;
    draft.set(root, 'type', '"object"');
  } else if (stringValue(text, type) !== 'object') return undefined;
  repair(text, root, draft);
  return draft.print();
}

function repair(text: string, root: ObjectScan, draft: Draft): void {
  const properties = memberOf(root, 'properties');
  if (properties?.object !== undefined) {
    for (const property of properties.object.members) repairProperty(text, property, draft);
  } else {
    // Without meaning in any dialect, and fatal to the list.
    draft.remove(root, 'properties');
  }
  const required = memberOf(root, 'required');
  if (required !== undefined && !isStringArray(text, required)) draft.remove(root, 'required');
}

function repairProperty(text: string, property: Member, draft: Draft): void {
  const kind = kindOf(text, property);
  if (kind === 'object' || kind === 'array') return;
  const schema = text.slice(property.start, property.end);
  draft.replace(property, kind === 'boolean' ? objectSchema(schema) : '{}');
}

function isStringArray(text: string, member: Member): boolean {
  if (kindOf(text, member) !== 'array') return false;
  return scanInnerArray(text, member.start).every((span) => kindOf(text, span) === 'string');
}

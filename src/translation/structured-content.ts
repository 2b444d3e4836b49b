/**
 * `structuredContent` and `outputSchema` (X10): any JSON in the modern era, objects only in the legacy one. What
 * is no object travels in an object with the one member `result`.
 * @see /specification/2026-07-28/server/tools#structured-content
 */
import { createHash } from 'node:crypto';
import { Draft } from '../jsonrpc/draft.js';
import {
  type ObjectScan,
  kindOf,
  memberOf,
  scanInnerArray,
  scanInnerObject,
  stringValue,
  valueText,
} from '../jsonrpc/json-scan.js';
import type { Message } from '../jsonrpc/message.js';
import type { LegacyFeatures } from './legacy-features.js';
import { isObjectTyped, objectSchema } from './tool-schema.js';

/** X10: whether values of this output schema must be wrapped: whenever its root `type` is not exactly `"object"`. */
export function needsWrap(schema: string): boolean {
  return !isObjectTyped(schema);
}

/**
 * X10: the output schema for wrapped values. The original becomes a schema resource of its own, with an `$id`,
 * so that its `#` references keep pointing into it; `$schema` moves to the new root.
 */
export function wrapOutputSchema(schema: string): string {
  const text = objectSchema(schema);
  const root = scanInnerObject(text, 0);
  const dialect = memberOf(root, '$schema');
  const draft = new Draft(text);
  draft.remove(root, '$schema');
  const id = stringValue(text, memberOf(root, '$id')) ?? '';
  // An `$id` that is only a fragment names the place, but gives no base to resolve against.
  if (id === '' || id.startsWith('#')) draft.set(root, '$id', JSON.stringify(ownId(schema) + id));
  moveRef(text, root, draft);
  const hoisted = dialect === undefined ? '' : `"$schema":${valueText(text, dialect)},`;
  return `{${hoisted}"type":"object","properties":{"result":${draft.print()}},"required":["result"]}`;
}

/** X10: wraps the value of a result, and says it in a text block when `content` says nothing. */
export function wrapStructuredContent(message: Message, draft: Draft): void {
  const result = message.result?.object;
  const member = memberOf(result, 'structuredContent');
  if (result === undefined || member === undefined) return;
  const value = valueText(message.text, member);
  draft.set(result, 'structuredContent', `{"result":${value}}`);
  addText(message, draft, result, value);
}

/**
 * X10, X15: the structured content of a modern `tools/call` result, for a legacy client.
 * @param wrapped whether the tool's output schema was wrapped in the list the client has; a value that is no
 *   object is wrapped in any case, as the client could not parse the result otherwise
 */
export function structuredContentToLegacy(
  message: Message,
  draft: Draft,
  wrapped: boolean,
  features: LegacyFeatures,
): void {
  const result = message.result?.object;
  const member = memberOf(result, 'structuredContent');
  if (result === undefined || member === undefined) return;
  if (wrapped || kindOf(message.text, member) !== 'object') wrapStructuredContent(message, draft);
  else if (!features.structuredContent) addText(message, draft, result, valueText(message.text, member));
}

function addText(message: Message, draft: Draft, result: ObjectScan, value: string): void {
  const content = memberOf(result, 'content');
  const { text } = message;
  const has = content && kindOf(text, content) === 'array' && scanInnerArray(text, content.start).length > 0;
  if (has !== true) draft.set(result, 'content', `[{"type":"text","text":${JSON.stringify(value)}}]`);
}

/** The same for the same schema, so that a list asked for twice is the same; `.invalid` never resolves (RFC 2606). */
function ownId(schema: string): string {
  const digest = createHash('sha256').update(schema).digest('hex').slice(0, 32);
  return `https://mcp-gangway.invalid/output-schema/${digest}`;
}

/**
 * Puts a root `$ref` into `allOf`, where it means the same. Beside it, an `$id` would be void up to draft-07,
 * and Ajv, which the legacy SDK validates with, resolves such a pair for ever.
 */
function moveRef(text: string, root: ObjectScan, draft: Draft): void {
  const ref = memberOf(root, '$ref');
  if (ref === undefined) return;
  const allOf = memberOf(root, 'allOf');
  const others = allOf === undefined ? '' : `,{"allOf":${valueText(text, allOf)}}`;
  draft.remove(root, '$ref');
  draft.set(root, 'allOf', `[{"$ref":${valueText(text, ref)}}${others}]`);
}

/**
 * Elicitation requests for legacy clients (X15, X16).
 * @see /specification/2026-07-28/client/elicitation#requested-schema
 */
import { Draft } from '../jsonrpc/draft.js';
import {
  type ObjectScan,
  type Span,
  kindOf,
  memberOf,
  scanInnerArray,
  scanInnerObject,
  stringValue,
} from '../jsonrpc/json-scan.js';
import type { LegacyFeatures } from './legacy-features.js';

/**
 * X15: the params of a modern `elicitation/create` for a legacy client. Choices with titles, which older clients would
 * show as a text field, become `enum` and `enumNames`. JSON text in and out; unchanged when there is nothing to adapt.
 */
export function elicitationParamsToLegacy(params: string, features: LegacyFeatures): string {
  if (features.titledChoices || !params.startsWith('{')) return params;
  const root = scanInnerObject(params, 0, { requestedSchema: { properties: {} } });
  const fields = memberOf(memberOf(root, 'requestedSchema')?.object, 'properties')?.object;
  if (fields === undefined) return params;
  const draft = new Draft(params);
  for (const field of fields.members) {
    if (kindOf(params, field) !== 'object') continue;
    const schema = scanInnerObject(params, field.start);
    const choices = titledChoices(params, memberOf(schema, 'oneOf'));
    if (choices !== undefined) nameChoices(draft, schema, choices);
  }
  return draft.print();
}

interface Choice {
  readonly value: string;
  readonly title: string;
}

/** Undefined when these are no choices of strings with titles. */
function titledChoices(text: string, member: Span | undefined): Choice[] | undefined {
  if (member === undefined || kindOf(text, member) !== 'array') return undefined;
  const choices: Choice[] = [];
  for (const span of scanInnerArray(text, member.start)) {
    const choice = kindOf(text, span) === 'object' ? scanInnerObject(text, span.start) : undefined;
    const value = stringValue(text, memberOf(choice, 'const'));
    if (value === undefined) return undefined;
    choices.push({ value, title: stringValue(text, memberOf(choice, 'title')) ?? value });
  }
  return choices;
}

function nameChoices(draft: Draft, schema: ObjectScan, choices: readonly Choice[]): void {
  draft.remove(schema, 'oneOf');
  draft.set(schema, 'enum', JSON.stringify(choices.map(({ value }) => value)));
  draft.set(schema, 'enumNames', JSON.stringify(choices.map(({ title }) => title)));
}

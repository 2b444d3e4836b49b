/**
 * The members of a result that belong to an era (X8, X9, X5). Everything else in a result is payload.
 * @see /specification/2026-07-28/basic#result-responses and /specification/2026-07-28/server/utilities/caching
 */
import type { Draft } from '../jsonrpc/draft.js';
import { type Span, kindOf, memberOf, stringValue, valueText } from '../jsonrpc/json-scan.js';
import { type Message, metaOf } from '../jsonrpc/message.js';
import { RESERVED_META, stripReservedMeta } from './reserved-meta.js';

/** The methods whose modern results carry caching hints. */
export const CACHEABLE_METHODS: ReadonlySet<string> = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]);

/** Where the modern era defines the members of the result. A vendor's `ttlMs` is its own affair. */
const DEFINED_METHODS: ReadonlySet<string> = new Set([
  ...CACHEABLE_METHODS,
  'tools/call',
  'prompts/get',
  'completion/complete',
  'subscriptions/listen',
]);

/**
 * X8: the type a result claims. Absent means `complete`. A value that is no string is given back as its JSON
 * text: it equals no known type, and a type the client does not know makes the result invalid.
 */
export function resultTypeOf(message: Message): string | undefined {
  const member = memberOf(message.result?.object, 'resultType');
  return member && (stringValue(message.text, member) ?? valueText(message.text, member));
}

/** X8, X9, X5: removes what only the modern era knows, at the level of the result and nowhere below. */
export function modernResultToLegacy(message: Message, draft: Draft, method: string): void {
  const result = message.result?.object;
  if (result === undefined) return;
  draft.remove(result, 'resultType');
  if (DEFINED_METHODS.has(method)) {
    draft.remove(result, 'ttlMs');
    draft.remove(result, 'cacheScope');
  }
  stripReservedMeta(message, draft);
}

/**
 * X8, X9, X5: completes a legacy result. A `resultType` a legacy server sends is not the modern one and is
 * replaced. Caching hints are added where the modern era requires them, as cautious as can be.
 * @param options.serverInfo JSON text of the server's `Implementation`
 */
export function legacyResultToModern(
  message: Message,
  draft: Draft,
  method: string,
  options: { readonly serverInfo?: string } = {},
): void {
  const result = message.result?.object;
  if (result === undefined) return;
  draft.set(result, 'resultType', '"complete"');
  if (CACHEABLE_METHODS.has(method)) {
    if (!isDuration(message.text, memberOf(result, 'ttlMs'))) draft.set(result, 'ttlMs', '0');
    const scope = stringValue(message.text, memberOf(result, 'cacheScope'));
    if (scope !== 'public' && scope !== 'private') draft.set(result, 'cacheScope', '"private"');
  }
  stripReservedMeta(message, draft);
  if (options.serverInfo === undefined) return;
  const meta = metaOf(message);
  if (meta !== undefined) draft.set(meta, RESERVED_META.serverInfo, options.serverInfo);
  else draft.set(result, '_meta', `{${JSON.stringify(RESERVED_META.serverInfo)}:${options.serverInfo}}`);
}

function isDuration(text: string, member: Span | undefined): boolean {
  if (member === undefined || kindOf(text, member) !== 'number') return false;
  const value = Number(valueText(text, member));
  return value >= 0 && Number.isSafeInteger(value);
}

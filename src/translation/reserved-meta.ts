/**
 * The `_meta` keys the modern era reserves (X5).
 * @see /specification/2026-07-28/basic#meta
 */
import type { Draft } from '../jsonrpc/draft.js';
import { type Message, metaOf } from '../jsonrpc/message.js';
import { memberOf, stringValue, valueText } from '../jsonrpc/json-scan.js';

/** The reserved keys by their short names. Other keys under the same prefix belong to extensions and are carried. */
export const RESERVED_META = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
} as const;

/** Exactly the keys that belong to the modern era and never cross over. */
export const RESERVED_META_KEYS: readonly string[] = Object.values(RESERVED_META);

/** What a modern request says of its sender. */
export interface RequestMeta {
  readonly protocolVersion: string;
  /** JSON text of an `Implementation`; absent: the key is removed. */
  readonly clientInfo?: string;
  /** JSON text of a `ClientCapabilities` object. */
  readonly capabilities: string;
  /** Absent: the key is removed, and the server sends no log messages. */
  readonly logLevel?: string;
}

/**
 * X5: removes the reserved keys from the `_meta` of a message's params or result, and `_meta` itself when there
 * was nothing else in it. Strict legacy peers refuse the keys, and a client's own values are not the gateway's.
 */
export function stripReservedMeta(message: Message, draft: Draft): void {
  const holder = (message.params ?? message.result)?.object;
  const meta = metaOf(message);
  if (holder === undefined || meta === undefined) return;
  for (const key of RESERVED_META_KEYS) draft.remove(meta, key);
  draft.prune(holder, '_meta');
}

/**
 * X5: makes a request a modern one. Reserved keys it already has are replaced or removed; its other `_meta`
 * keys (`progressToken`, trace context, foreign ones) stay as they are.
 */
export function setRequestMeta(message: Message, draft: Draft, meta: RequestMeta): void {
  const entries: [string, string][] = [[RESERVED_META.protocolVersion, JSON.stringify(meta.protocolVersion)]];
  if (meta.clientInfo !== undefined) entries.push([RESERVED_META.clientInfo, meta.clientInfo]);
  entries.push([RESERVED_META.clientCapabilities, meta.capabilities]);
  if (meta.logLevel !== undefined) entries.push([RESERVED_META.logLevel, JSON.stringify(meta.logLevel)]);

  const present = metaOf(message);
  if (present !== undefined) {
    stripReservedMeta(message, draft);
    for (const [key, value] of entries) draft.set(present, key, value);
    return;
  }
  const text = `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`;
  const params = message.params?.object;
  if (params !== undefined) draft.set(params, '_meta', text);
  else draft.set(message.root, 'params', `{"_meta":${text}}`);
}

/** The JSON text at one of the reserved keys of a message's `_meta`. */
export function reservedMeta(message: Message, name: keyof typeof RESERVED_META): string | undefined {
  const member = memberOf(metaOf(message), RESERVED_META[name]);
  return member && valueText(message.text, member);
}

/** The decoded string at one of the reserved keys of a message's `_meta`, if it is one. */
export function reservedMetaString(message: Message, name: keyof typeof RESERVED_META): string | undefined {
  return stringValue(message.text, memberOf(metaOf(message), RESERVED_META[name]));
}

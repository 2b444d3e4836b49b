/**
 * How a server introduces itself (X1): `InitializeResult` and `DiscoverResult` made from each other.
 * Members neither era defines are carried.
 * @see /specification/2026-07-28/server/discover and the legacy specification's basic/lifecycle#initialization
 */
import { Draft } from '../jsonrpc/draft.js';
import { type ObjectScan, memberOf, scanInnerObject, stringValue, valueText } from '../jsonrpc/json-scan.js';
import type { Message } from '../jsonrpc/message.js';
import {
  type SubscriptionServices,
  serverCapabilitiesToLegacy,
  serverCapabilitiesToModern,
} from './capabilities.js';
import { RESERVED_META, RESERVED_META_KEYS } from './reserved-meta.js';

/** X1: the result of a legacy client's `initialize`, from what a modern server says of itself. JSON text. */
export function initializeResultFromDiscover(
  discover: Message,
  options: { readonly protocolVersion: string; readonly services: SubscriptionServices },
): string {
  const { text, root } = resultOf(discover);
  const draft = new Draft(text);
  for (const key of ['resultType', 'supportedVersions', 'ttlMs', 'cacheScope']) draft.remove(root, key);
  draft.set(root, 'protocolVersion', JSON.stringify(options.protocolVersion));
  draft.set(
    root,
    'capabilities',
    serverCapabilitiesToLegacy(memberText(text, root, 'capabilities'), options.services),
  );
  draft.set(root, 'serverInfo', completeImplementation(serverInfoOf(discover)));
  stripReserved(root, draft);
  return draft.print();
}

/** X1, X9: the result of a modern client's `server/discover`, from a legacy server's `InitializeResult`. JSON text. */
export function discoverResultFromInitialize(
  initialize: Message,
  options: { readonly supportedVersions: readonly string[]; readonly services: SubscriptionServices },
): string {
  const { text, root } = resultOf(initialize);
  const draft = new Draft(text);
  const serverInfo = serverInfoOf(initialize);
  for (const key of ['protocolVersion', 'serverInfo']) draft.remove(root, key);
  draft.set(root, 'resultType', '"complete"');
  draft.set(root, 'supportedVersions', JSON.stringify(options.supportedVersions));
  draft.set(
    root,
    'capabilities',
    serverCapabilitiesToModern(memberText(text, root, 'capabilities'), options.services),
  );
  draft.set(root, 'ttlMs', '0');
  draft.set(root, 'cacheScope', '"private"');
  stripReserved(root, draft);
  if (serverInfo !== undefined) {
    const info = completeImplementation(serverInfo);
    const meta = memberOf(root, '_meta')?.object;
    if (meta !== undefined) draft.set(meta, RESERVED_META.serverInfo, info);
    else draft.set(root, '_meta', `{${JSON.stringify(RESERVED_META.serverInfo)}:${info}}`);
  }
  return draft.print();
}

/**
 * The JSON text of the server's `Implementation`: in `_meta` where the modern era puts it, else in the body,
 * where the legacy era has it and some modern servers still do. Undefined when there is no object.
 */
export function serverInfoOf(description: Message): string | undefined {
  const { text, root } = resultOf(description);
  const inMeta = memberOf(memberOf(root, '_meta')?.object, RESERVED_META.serverInfo);
  for (const member of [inMeta, memberOf(root, 'serverInfo')]) {
    const info = member && valueText(text, member);
    if (info?.startsWith('{') === true) return info;
  }
  return undefined;
}

/** The legacy era requires `name` and `version`; a client that validates drops the server without them. */
function completeImplementation(info = '{}'): string {
  const root = scanInnerObject(info, 0);
  const draft = new Draft(info);
  if (stringValue(info, memberOf(root, 'name')) === undefined) draft.set(root, 'name', '"unknown"');
  if (stringValue(info, memberOf(root, 'version')) === undefined) draft.set(root, 'version', '"0"');
  return draft.print();
}

function stripReserved(root: ObjectScan, draft: Draft): void {
  const meta = memberOf(root, '_meta')?.object;
  if (meta === undefined) return;
  for (const key of RESERVED_META_KEYS) draft.remove(meta, key);
  draft.prune(root, '_meta');
}

function resultOf(message: Message): { text: string; root: ObjectScan } {
  const text = message.result ? valueText(message.text, message.result) : '{}';
  return { text, root: scanInnerObject(text, 0, { _meta: {} }) };
}

function memberText(text: string, root: ObjectScan, key: string): string {
  const member = memberOf(root, key);
  return member ? valueText(text, member) : '{}';
}

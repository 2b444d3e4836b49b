import { type ListKind, LIST_KINDS } from '../../src/exchange/change-filter.js';
import { memberOf, scanInnerObject } from '../../src/jsonrpc/json-scan.js';
import type { Message } from '../../src/jsonrpc/message.js';

/** What a server may tell of without being asked, and whether single resources can be watched. */
export interface OfferedChanges {
  readonly lists: ReadonlySet<ListKind>;
  readonly subscribe: boolean;
}

export const NO_OFFER: OfferedChanges = { lists: new Set(), subscribe: false };

/** Which changes an InitializeResult advertises. @see /specification/2025-11-25/basic/lifecycle#capability-negotiation */
export function offeredChanges(initialize: Message): OfferedChanges {
  const { text, result } = initialize;
  const capabilities = memberOf(result?.object, 'capabilities');
  if (capabilities === undefined || text.charAt(capabilities.start) !== '{') return NO_OFFER;
  const root = scanInnerObject(text, capabilities.start, { tools: {}, prompts: {}, resources: {} });
  const flag = (kind: ListKind, name: string) => {
    const member = memberOf(memberOf(root, kind)?.object, name);
    return member !== undefined && text.startsWith('true', member.start);
  };
  const lists = LIST_KINDS.filter((kind) => flag(kind, 'listChanged'));
  return offerOf(lists, flag('resources', 'subscribe'));
}

/** The few offers there are, each once: thousands of sessions keep what they were offered. */
const OFFERS = new Map<string, OfferedChanges>();

/** @param lists in the order of `LIST_KINDS` */
export function offerOf(lists: readonly ListKind[], subscribe: boolean): OfferedChanges {
  const key = `${lists.join(' ')} ${subscribe}`;
  let offer = OFFERS.get(key);
  if (offer === undefined) OFFERS.set(key, (offer = { lists: new Set(lists), subscribe }));
  return offer;
}

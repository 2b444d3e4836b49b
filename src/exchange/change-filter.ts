/**
 * Which changes a client wants to hear of, in neither era's words.
 * @see /specification/2026-07-28/basic/patterns/subscriptions#notification-filter
 */
import {
  type ObjectScan,
  kindOf,
  memberOf,
  scanInnerArray,
  scanInnerObject,
  stringValue,
} from '../jsonrpc/json-scan.js';
import { type Message, paramString } from '../jsonrpc/message.js';

/** The lists that can change. */
export const LIST_KINDS = ['tools', 'prompts', 'resources'] as const;
export type ListKind = (typeof LIST_KINDS)[number];

export interface ChangeFilter {
  readonly lists: ReadonlySet<ListKind>;
  /** Resources whose updates are wanted. */
  readonly uris: ReadonlySet<string>;
}

/** The few filters without resources, each once: thousands of subscriptions have the same. */
const OF_LISTS = new Map<string, ChangeFilter>();
const NO_URIS: ReadonlySet<string> = new Set();

/** @param lists in the order of `LIST_KINDS` */
export function filterOf(lists: readonly ListKind[], uris: readonly string[]): ChangeFilter {
  if (uris.length > 0) return { lists: new Set(lists), uris: new Set(uris) };
  const key = lists.join(' ');
  let filter = OF_LISTS.get(key);
  if (filter === undefined) OF_LISTS.set(key, (filter = { lists: new Set(lists), uris: NO_URIS }));
  return filter;
}

export const NO_CHANGES: ChangeFilter = filterOf([], []);

/** The list that a method gives, of those whose changes are told; no notification says that templates changed. */
export function listOfMethod(method: string): ListKind | undefined {
  return LIST_KINDS.find((kind) => method === LIST_METHODS[kind]);
}

const LIST_METHODS: Readonly<Record<ListKind, string>> = {
  tools: 'tools/list',
  prompts: 'prompts/list',
  resources: 'resources/list',
};

/** The notification that tells of a changed list. */
export function listChangedMethod(kind: ListKind): string {
  return `notifications/${kind}/list_changed`;
}

/** What a notification tells of: a list, a resource, or nothing a subscription is about. */
export function changeOf(message: Message): { list: ListKind } | { uri: string } | undefined {
  if (message.method === 'notifications/resources/updated') {
    const uri = paramString(message, 'uri');
    return uri === undefined ? undefined : { uri };
  }
  const list = LIST_KINDS.find((kind) => message.method === listChangedMethod(kind));
  return list && { list };
}

/** Whether a filter lets a change pass. A resource's update may name a part of what was subscribed to. */
export function wants(filter: ChangeFilter, message: Message): boolean {
  const change = changeOf(message);
  if (change === undefined) return false;
  if ('list' in change) return filter.lists.has(change.list);
  if (filter.uris.has(change.uri)) return true;
  for (const uri of filter.uris) if (isOf(change.uri, uri)) return true;
  return false;
}

/** Whether the update of one resource is for those who subscribed to the other: it is that one, or a part of it. */
export function isOf(updated: string, subscribed: string): boolean {
  return updated === subscribed || isPartOf(updated, subscribed);
}

/** Whether one uri names something inside what the other names: `a/b` is inside `a`, `ab` is not. */
function isPartOf(inner: string, outer: string): boolean {
  return inner.startsWith(outer) && (/[/?#]$/.test(outer) || /^[/?#]/.test(inner.slice(outer.length)));
}

const FILTER_MEMBERS: Readonly<Record<ListKind, string>> = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
};

/** Reads the `notifications` member of a listen request or of its acknowledgment. */
export function readFilter(message: Message): ChangeFilter {
  const { text } = message;
  const member = memberOf(message.params?.object, 'notifications');
  if (member === undefined || kindOf(text, member) !== 'object') return NO_CHANGES;
  const filter = scanInnerObject(text, member.start);
  const lists = LIST_KINDS.filter((kind) => isTrue(text, filter, FILTER_MEMBERS[kind]));
  const subscribed = memberOf(filter, 'resourceSubscriptions');
  const uris =
    subscribed !== undefined && kindOf(text, subscribed) === 'array'
      ? scanInnerArray(text, subscribed.start).flatMap((span) => stringValue(text, span) ?? [])
      : [];
  return filterOf(lists, uris);
}

/**
 * What is wrong with the filter of a listen request; undefined when nothing is. Members nobody knows are no mistake.
 * @see /specification/2026-07-28/schema#subscriptionfilter
 */
export function filterProblem(message: Message): string | undefined {
  const { text } = message;
  const member = memberOf(message.params?.object, 'notifications');
  if (member === undefined || kindOf(text, member) !== 'object') return '"notifications" must be an object';
  const filter = scanInnerObject(text, member.start);
  for (const key of Object.values(FILTER_MEMBERS)) {
    const flag = memberOf(filter, key);
    if (flag !== undefined && kindOf(text, flag) !== 'boolean')
      return `"notifications.${key}" must be a boolean`;
  }
  const uris = memberOf(filter, 'resourceSubscriptions');
  if (uris === undefined) return undefined;
  const strings =
    kindOf(text, uris) === 'array' &&
    scanInnerArray(text, uris.start).every((span) => kindOf(text, span) === 'string');
  return strings ? undefined : '"notifications.resourceSubscriptions" must be an array of strings';
}

/** Prints a filter as the `notifications` member has it. */
export function printFilter(filter: ChangeFilter): string {
  const members: Record<string, unknown> = {};
  for (const kind of LIST_KINDS) if (filter.lists.has(kind)) members[FILTER_MEMBERS[kind]] = true;
  if (filter.uris.size > 0) members['resourceSubscriptions'] = [...filter.uris];
  return JSON.stringify(members);
}

/** Whether a filter lets nothing pass. */
export function isNothing(filter: ChangeFilter): boolean {
  return filter.lists.size === 0 && filter.uris.size === 0;
}

/** Whether everything one filter wants is in another. */
export function isWithin(inner: ChangeFilter, outer: ChangeFilter): boolean {
  return (
    [...inner.lists].every((kind) => outer.lists.has(kind)) &&
    [...inner.uris].every((uri) => outer.uris.has(uri))
  );
}

function isTrue(text: string, object: ObjectScan, key: string): boolean {
  const member = memberOf(object, key);
  return member !== undefined && text.startsWith('true', member.start);
}

/**
 * Capabilities across the eras (X2, X15, X31). Known members are adapted, unknown ones, `experimental` and
 * `extensions` are carried. All functions take and give JSON text; what is no object counts as `{}`.
 * @see /specification/2026-07-28/schema#clientcapabilities and #servercapabilities
 */
import { Draft } from '../jsonrpc/draft.js';
import { type Interest, type ObjectScan, memberOf, scanInnerObject } from '../jsonrpc/json-scan.js';
import type { LegacyFeatures } from './legacy-features.js';

/** Extensions with result types of their own: the other era has no shape for these, so nobody may rely on them. */
const NOT_CLAIMED: readonly string[] = ['io.modelcontextprotocol/tasks'];

/** Which subscriptions the gateway can serve between this client and this upstream. */
export interface SubscriptionServices {
  /** `resources/updated` notifications can be delivered. */
  readonly subscribe: boolean;
  /** `list_changed` notifications can be delivered. */
  readonly listChanged: boolean;
}

/** X2, X15: what a legacy client declared at `initialize`, in the words of a modern request. */
export function clientCapabilitiesToModern(text: string, features: LegacyFeatures): string {
  return edit(text, { roots: {}, elicitation: {}, sampling: {}, extensions: {} }, (root, draft) => {
    dropTasks(root, draft);
    const roots = memberOf(root, 'roots')?.object;
    if (roots !== undefined) draft.remove(roots, 'listChanged');
    limitToFeatures(root, draft, features);
  });
}

/**
 * X2, X15: what a modern client declared on a request, in the words of an `initialize`. Never declares more
 * than the client did, except `roots.listChanged`, which is a service of the gateway.
 */
export function clientCapabilitiesToLegacy(text: string, features: LegacyFeatures): string {
  return edit(text, { roots: {}, elicitation: {}, sampling: {}, extensions: {} }, (root, draft) => {
    dropTasks(root, draft);
    const roots = memberOf(root, 'roots')?.object;
    if (roots !== undefined) draft.set(roots, 'listChanged', 'true');
    limitToFeatures(root, draft, features);
  });
}

/** X2: what a modern server declares, for a legacy client: only what the gateway can deliver. */
export function serverCapabilitiesToLegacy(text: string, services: SubscriptionServices): string {
  return serverCapabilities(text, services);
}

/** X2: what a legacy server declares, for a modern client: only what the gateway can deliver. */
export function serverCapabilitiesToModern(text: string, services: SubscriptionServices): string {
  return serverCapabilities(text, services);
}

function serverCapabilities(text: string, services: SubscriptionServices): string {
  return edit(text, { tools: {}, prompts: {}, resources: {}, extensions: {} }, (root, draft) => {
    dropTasks(root, draft);
    for (const kind of ['tools', 'prompts', 'resources']) {
      const capability = memberOf(root, kind)?.object;
      if (capability === undefined) continue;
      if (!services.listChanged) draft.remove(capability, 'listChanged');
      if (!services.subscribe && kind === 'resources') draft.remove(capability, 'subscribe');
    }
  });
}

function dropTasks(root: ObjectScan, draft: Draft): void {
  draft.remove(root, 'tasks');
  const extensions = memberOf(root, 'extensions')?.object;
  if (extensions === undefined) return;
  for (const name of NOT_CLAIMED) draft.remove(extensions, name);
  draft.prune(root, 'extensions');
}

function limitToFeatures(root: ObjectScan, draft: Draft, features: LegacyFeatures): void {
  const elicitation = memberOf(root, 'elicitation')?.object;
  if (!features.elicitation) {
    draft.remove(root, 'elicitation');
  } else if (elicitation !== undefined && !features.urlElicitation) {
    draft.remove(elicitation, 'url');
    // An empty object would declare form mode, which a client with URL mode only does not have.
    draft.prune(root, 'elicitation');
  }
  const sampling = memberOf(root, 'sampling')?.object;
  if (sampling !== undefined && !features.samplingTools) draft.remove(sampling, 'tools');
}

function edit(text: string, interest: Interest, change: (root: ObjectScan, draft: Draft) => void): string {
  if (!text.startsWith('{')) return '{}';
  const draft = new Draft(text);
  change(scanInnerObject(text, 0, interest), draft);
  return draft.print();
}

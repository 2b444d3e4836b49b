/**
 * Questions across the eras (X16–X19): what a client must have declared to be asked, and what of a question's params
 * belongs to one era only.
 * @see /specification/2026-07-28/basic/patterns/mrtr and /specification/2025-11-25/client/elicitation
 */
import { Draft } from '../jsonrpc/draft.js';
import { INVALID_PARAMS, METHOD_NOT_FOUND } from '../jsonrpc/error-code.js';
import {
  type ObjectScan,
  kindOf,
  memberOf,
  scanInnerArray,
  scanInnerObject,
  stringValue,
  valueText,
} from '../jsonrpc/json-scan.js';

/** The questions both eras know. */
export const QUESTION_METHODS: ReadonlySet<string> = new Set([
  'elicitation/create',
  'sampling/createMessage',
  'roots/list',
]);

/** The requests during which a server may ask. @see /specification/2026-07-28/basic/patterns/mrtr#supported-requests */
export const INTERACTIVE_METHODS: ReadonlySet<string> = new Set([
  'tools/call',
  'prompts/get',
  'resources/read',
]);

/**
 * The capability a client lacks to be asked this, as JSON text of a `ClientCapabilities` object; undefined when it
 * declared all that is needed (X17).
 * @param capabilities JSON text of what the client declared
 * @param params JSON text of the question's params
 */
export function missingCapability(
  capabilities: string,
  method: string,
  params: string | undefined,
): string | undefined {
  const declared = scanInnerObject(capabilities, 0, { elicitation: {}, sampling: {}, roots: {} });
  const asked = params === undefined ? undefined : scanInnerObject(params, 0);
  if (method === 'roots/list') return memberOf(declared, 'roots') ? undefined : '{"roots":{}}';
  if (method === 'sampling/createMessage') {
    const sampling = memberOf(declared, 'sampling');
    const tools = memberOf(asked, 'tools') !== undefined || memberOf(asked, 'toolChoice') !== undefined;
    if (tools && memberOf(sampling?.object, 'tools') === undefined) return '{"sampling":{"tools":{}}}';
    return sampling === undefined ? '{"sampling":{}}' : undefined;
  }
  if (method === 'elicitation/create') {
    const elicitation = memberOf(declared, 'elicitation')?.object;
    const url = isUrlMode(params, asked);
    if (url) return memberOf(elicitation, 'url') ? undefined : '{"elicitation":{"url":{}}}';
    // An empty object stands for form mode, which older revisions knew alone.
    const form =
      elicitation !== undefined &&
      (memberOf(elicitation, 'form') !== undefined || memberOf(elicitation, 'url') === undefined);
    return form ? undefined : '{"elicitation":{"form":{}}}';
  }
  return '{}';
}

/**
 * The code a legacy server's question is refused with that this client did not declare to answer: a mode of elicitation
 * is a parameter of what the client knows, anything else a method it does not know.
 * @see /specification/2025-11-25/client/elicitation#error-handling and /specification/2025-11-25/client/roots#error-handling
 */
export function undeclaredCode(capabilities: string, method: string): number {
  const declared = scanInnerObject(capabilities, 0);
  return method === 'elicitation/create' && memberOf(declared, 'elicitation')
    ? INVALID_PARAMS
    : METHOD_NOT_FOUND;
}

function isUrlMode(params: string | undefined, asked: ObjectScan | undefined): boolean {
  return params !== undefined && stringValue(params, memberOf(asked, 'mode')) === 'url';
}

/** The URL of a URL elicitation; undefined for any other question. */
export function elicitedUrl(method: string, params: string | undefined): string | undefined {
  if (method !== 'elicitation/create' || params === undefined) return undefined;
  const asked = scanInnerObject(params, 0);
  return isUrlMode(params, asked) ? stringValue(params, memberOf(asked, 'url')) : undefined;
}

/** X16: a question's params without what only works within its own era: tasks, and progress of the client. */
export function portableParams(params: string | undefined): string | undefined {
  if (params === undefined) return undefined;
  const root = scanInnerObject(params, 0, { _meta: {} });
  const draft = new Draft(params);
  draft.remove(root, 'task');
  const meta = memberOf(root, '_meta')?.object;
  if (meta !== undefined && memberOf(meta, 'progressToken')) {
    draft.remove(meta, 'progressToken');
    draft.prune(root, '_meta');
  }
  return draft.print();
}

/** X18: a URL elicitation for a legacy client, which needs an id. */
export function withElicitationId(params: string, elicitationId: string): string {
  const draft = new Draft(params);
  draft.set(scanInnerObject(params, 0), 'elicitationId', JSON.stringify(elicitationId));
  return draft.print();
}

/** X18: a URL elicitation for a modern client, which knows no id; and the id it had. */
export function withoutElicitationId(params: string): { params: string; elicitationId: string | undefined } {
  const root = scanInnerObject(params, 0);
  const elicitationId = stringValue(params, memberOf(root, 'elicitationId'));
  const draft = new Draft(params);
  draft.remove(root, 'elicitationId');
  return { params: draft.print(), elicitationId };
}

/** The params of each URL elicitation a legacy `-32042` error names, as JSON texts (X18). */
export function requiredElicitations(data: string | undefined): string[] {
  if (data?.startsWith('{') !== true) return [];
  const elicitations = memberOf(scanInnerObject(data, 0), 'elicitations');
  if (elicitations === undefined || kindOf(data, elicitations) !== 'array') return [];
  return scanInnerArray(data, elicitations.start)
    .filter((span) => kindOf(data, span) === 'object')
    .map((span) => valueText(data, span));
}

/** What an answer must look like; undefined when it does, else what is wrong with it. */
export function answerProblem(method: string, answer: string): string | undefined {
  if (!answer.startsWith('{')) return 'must be an object';
  const root = scanInnerObject(answer, 0);
  if (method === 'elicitation/create') {
    const action = stringValue(answer, memberOf(root, 'action'));
    if (action !== 'accept' && action !== 'decline' && action !== 'cancel') {
      return 'needs an "action" of "accept", "decline" or "cancel"';
    }
    const content = memberOf(root, 'content');
    return content === undefined || kindOf(answer, content) === 'object'
      ? undefined
      : '"content" must be an object';
  }
  if (method === 'sampling/createMessage') {
    const hasText = (key: string) => stringValue(answer, memberOf(root, key)) !== undefined;
    const content = memberOf(root, 'content');
    const kind = content && kindOf(answer, content);
    return hasText('role') && hasText('model') && (kind === 'object' || kind === 'array')
      ? undefined
      : 'needs "role", "content" and "model"';
  }
  const roots = memberOf(root, 'roots');
  return roots !== undefined && kindOf(answer, roots) === 'array' ? undefined : 'needs an array "roots"';
}

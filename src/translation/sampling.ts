/**
 * Sampling requests and answers for legacy peers (X10, X15, X19).
 * @see /specification/2026-07-28/client/sampling
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
  valueText,
} from '../jsonrpc/json-scan.js';
import { anyBlockIsForeign, blocksToLegacy } from './content.js';
import type { LegacyFeatures } from './legacy-features.js';
import { legacyTool } from './tools-list.js';

/**
 * X10, X15: the params of a modern `sampling/createMessage` for a legacy client. Several content blocks in one
 * message become several messages where the revision has one block per message; tools become readable as in
 * `tools/list`. JSON text in and out; unchanged when there is nothing to adapt.
 */
export function samplingParamsToLegacy(params: string, features: LegacyFeatures): string {
  if (!params.startsWith('{')) return params;
  const root = scanInnerObject(params, 0);
  const draft = new Draft(params);
  for (const span of elements(params, memberOf(root, 'messages'))) {
    if (kindOf(params, span) === 'object') messageToLegacy(params, span, draft, features);
  }
  const tools = elements(params, memberOf(root, 'tools'));
  const unreadable = new Set<number>();
  tools.forEach((span, i) => {
    const tool = kindOf(params, span) === 'object' ? legacyTool(valueText(params, span)) : { omit: '' };
    if ('omit' in tool) unreadable.add(i);
    else if (tool.text !== valueText(params, span)) draft.replace(span, tool.text);
  });
  draft.removeElements(tools, unreadable);
  return draft.print();
}

/** X15: a client's sampling answer for a legacy server: one content block where its revision has one. */
export function samplingResultToLegacy(result: string, features: LegacyFeatures): string {
  if (!result.startsWith('{')) return result;
  const content = memberOf(scanInnerObject(result, 0), 'content');
  if (content === undefined) return result;
  const [only, ...more] = elements(result, content);
  if (only !== undefined && more.length === 0 && !features.samplingTools) {
    // The block's own edits have to be made first: both would cut into the same place.
    const block = legacyBlock(valueText(result, only), features);
    const draft = new Draft(result);
    draft.replace(content, block);
    return draft.print();
  }
  const draft = new Draft(result);
  blocksToLegacy(result, content, draft, features);
  return draft.print();
}

function messageToLegacy(text: string, span: Span, draft: Draft, features: LegacyFeatures): void {
  const message = scanInnerObject(text, span.start);
  const content = memberOf(message, 'content');
  if (content === undefined) return;
  if (kindOf(text, content) === 'array' && !features.samplingTools) {
    draft.replace(span, splitMessage(text, span, content, features));
    return;
  }
  if (anyBlockIsForeign(features)) blocksToLegacy(text, content, draft, features);
  const blocks = kindOf(text, content) === 'array' ? scanInnerArray(text, content.start) : [content];
  for (const block of blocks) {
    if (kindOf(text, block) === 'object') wrapToolResult(text, scanInnerObject(text, block.start), draft);
  }
}

/** One message per block, each with the members of the original. An empty content stays: it cannot be said. */
function splitMessage(text: string, message: Span, content: Span, features: LegacyFeatures): string {
  const before = text.slice(message.start, content.start);
  const after = text.slice(content.end, message.end);
  const blocks = scanInnerArray(text, content.start);
  if (blocks.length === 0) return valueText(text, message);
  return blocks.map((block) => before + legacyBlock(valueText(text, block), features) + after).join(',');
}

function legacyBlock(block: string, features: LegacyFeatures): string {
  const draft = new Draft(block);
  blocksToLegacy(block, { start: 0, end: block.length }, draft, features);
  return draft.print();
}

/** X10: the structured content of a `tool_result` must be an object in the legacy era. */
function wrapToolResult(text: string, block: ObjectScan, draft: Draft): void {
  if (stringValue(text, memberOf(block, 'type')) !== 'tool_result') return;
  const value = memberOf(block, 'structuredContent');
  if (value === undefined || kindOf(text, value) === 'object') return;
  draft.set(block, 'structuredContent', `{"result":${valueText(text, value)}}`);
}

function elements(text: string, member: Span | undefined): Span[] {
  return member !== undefined && kindOf(text, member) === 'array' ? scanInnerArray(text, member.start) : [];
}

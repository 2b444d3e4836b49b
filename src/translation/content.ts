/**
 * Content blocks that older legacy revisions do not have (X15): put into words, because a client that validates
 * drops the whole result for one block it does not know.
 * @see /specification/2026-07-28/server/tools#tool-result
 */
import type { Draft } from '../jsonrpc/draft.js';
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
import type { Message } from '../jsonrpc/message.js';
import type { LegacyFeatures } from './legacy-features.js';

/**
 * X15: the content of a `tools/call` or `prompts/get` result, or of a sampling result, for a legacy peer. Blocks
 * the peer's revision has stay byte for byte.
 */
export function contentToLegacy(message: Message, draft: Draft, features: LegacyFeatures): void {
  const { text } = message;
  const result = message.result?.object;
  if (result === undefined || !anyBlockIsForeign(features)) return;
  blocksToLegacy(text, memberOf(result, 'content'), draft, features);
  const messages = memberOf(result, 'messages');
  if (messages === undefined || kindOf(text, messages) !== 'array') return;
  for (const span of scanInnerArray(text, messages.start)) {
    if (kindOf(text, span) !== 'object') continue;
    blocksToLegacy(text, memberOf(scanInnerObject(text, span.start), 'content'), draft, features);
  }
}

/** X15: whether there are any content blocks that a peer with these features does not know. */
export function anyBlockIsForeign(features: LegacyFeatures): boolean {
  return !features.resourceLinks || !features.audio;
}

/** X15: one block, or an array of blocks, that stands in a scanned text. */
export function blocksToLegacy(
  text: string,
  content: Span | undefined,
  draft: Draft,
  features: LegacyFeatures,
): void {
  if (content === undefined) return;
  const spans = kindOf(text, content) === 'array' ? scanInnerArray(text, content.start) : [content];
  for (const span of spans) {
    if (kindOf(text, span) !== 'object') continue;
    const block = scanInnerObject(text, span.start);
    const type = stringValue(text, memberOf(block, 'type'));
    if (type === 'resource_link' && !features.resourceLinks) {
      draft.replace(span, textBlock(text, block, linkInWords(text, block)));
    } else if (type === 'audio' && !features.audio) {
      draft.replace(span, textBlock(text, block, audioInWords(text, block)));
    }
  }
}

function linkInWords(text: string, block: ObjectScan): string {
  const get = (key: string): string | undefined => stringValue(text, memberOf(block, key));
  const mimeType = get('mimeType');
  const title = get('title') ?? get('name') ?? 'Resource';
  const type = mimeType === undefined ? '' : ` (${mimeType})`;
  const description = get('description');
  const details = description === undefined ? '' : `\n${description}`;
  return `${title}${type}: ${get('uri') ?? ''}${details}`;
}

function audioInWords(text: string, block: ObjectScan): string {
  const mimeType = stringValue(text, memberOf(block, 'mimeType')) ?? 'audio';
  const data = stringValue(text, memberOf(block, 'data')) ?? '';
  const bytes = Math.floor((data.replace(/=+$/, '').length * 3) / 4);
  return `[${mimeType}, ${bytes} bytes, left out: the protocol revision in use has no audio content]`;
}

/** A text block that keeps what every block may have beside its content. */
function textBlock(text: string, block: ObjectScan, words: string): string {
  const kept = ['annotations', '_meta'].flatMap((key) => {
    const member = memberOf(block, key);
    return member === undefined ? [] : [`,"${key}":${valueText(text, member)}`];
  });
  return `{"type":"text","text":${JSON.stringify(words)}${kept.join('')}}`;
}

/**
 * `tools/list` results (X7, X10, X11). One tool a client cannot read costs it the whole list, so tools that
 * cannot be made readable are left out and reported.
 * @see /specification/2026-07-28/server/tools#tool
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
import type { Message } from '../jsonrpc/message.js';
import { needsWrap, wrapOutputSchema } from './structured-content.js';
import { legacyInputSchema, legacyObjectSchema } from './tool-schema.js';
import { type HeaderParam, headerAnnotations } from './x-mcp-header.js';

/** A tool the client does not get to see; the reason is for the log. */
export interface OmittedTool {
  readonly name: string;
  readonly reason: string;
}

/** What has to be remembered of a modern list to serve calls of its tools. */
export interface LegacyToolList {
  /** Names of the tools whose `structuredContent` must be wrapped (X10). */
  readonly wrapped: ReadonlySet<string>;
  /** The mirrored parameters of the tools that have any (X7). */
  readonly headers: ReadonlyMap<string, readonly HeaderParam[]>;
  readonly omitted: readonly OmittedTool[];
}

/** One modern tool in legacy words, or why it has none. */
export type LegacyTool = { readonly text: string; readonly wrapped: boolean } | { readonly omit: string };

/** X7, X10, X11: a modern server's list, for a legacy client. */
export function modernToolsToLegacy(message: Message, draft: Draft): LegacyToolList {
  const wrapped = new Set<string>();
  const headers = new Map<string, readonly HeaderParam[]>();
  const omitted = eachTool(message, draft, (name, text) => {
    const annotations = headerAnnotations(inputSchemaOf(text));
    if (!annotations.ok) return { omit: annotations.reason };
    const tool = legacyTool(text);
    if ('omit' in tool) return tool;
    if (tool.wrapped) wrapped.add(name);
    if (annotations.params.length > 0) headers.set(name, annotations.params);
    return tool;
  });
  return { wrapped, headers, omitted };
}

/**
 * X11: a legacy server's list, for a modern client. `execution.taskSupport` is a matter between the gateway and
 * the server; a tool that runs as a task only cannot be called from the modern era and is left out.
 */
export function legacyToolsToModern(message: Message, draft: Draft): { omitted: readonly OmittedTool[] } {
  const omitted = eachTool(message, draft, (_, text) => {
    const root = scanInnerObject(text, 0, { execution: {} });
    const support = memberOf(memberOf(root, 'execution')?.object, 'taskSupport');
    if (stringValue(text, support) === 'required') return { omit: 'it runs as a task only' };
    const edits = new Draft(text);
    dropTaskSupport(root, edits);
    return { text: edits.print() };
  });
  return { omitted };
}

/** X10, X11: a modern `Tool`, as JSON text, in words that a legacy client reads. */
export function legacyTool(text: string): LegacyTool {
  const root = scanInnerObject(text, 0, { execution: {} });
  const input = memberOf(root, 'inputSchema');
  const inputSchema = input && legacyInputSchema(valueText(text, input));
  if (input === undefined || inputSchema === undefined) {
    return { omit: 'its inputSchema accepts no object' };
  }
  const draft = new Draft(text);
  replaceIfChanged(text, draft, input, inputSchema);
  const wrapped = translateOutputSchema(text, root, draft);
  dropTaskSupport(root, draft);
  return { text: draft.print(), wrapped };
}

function inputSchemaOf(tool: string): string {
  const input = memberOf(scanInnerObject(tool, 0), 'inputSchema');
  return input ? valueText(tool, input) : '{}';
}

function translateOutputSchema(text: string, root: ObjectScan, draft: Draft): boolean {
  const output = memberOf(root, 'outputSchema');
  if (output === undefined) return false;
  const schema = valueText(text, output);
  const kind = kindOf(text, output);
  if (kind !== 'object' && kind !== 'boolean') {
    draft.remove(root, 'outputSchema');
    return false;
  }
  const wrap = needsWrap(schema);
  replaceIfChanged(text, draft, output, wrap ? wrapOutputSchema(schema) : legacyObjectSchema(schema));
  return wrap;
}

function dropTaskSupport(root: ObjectScan, draft: Draft): void {
  const execution = memberOf(root, 'execution')?.object;
  if (execution === undefined) return;
  draft.remove(execution, 'taskSupport');
  draft.prune(root, 'execution');
}

function eachTool(
  message: Message,
  draft: Draft,
  translate: (name: string, text: string) => { readonly text: string } | { readonly omit: string },
): OmittedTool[] {
  const { text } = message;
  const list = memberOf(message.result?.object, 'tools');
  if (list === undefined || kindOf(text, list) !== 'array') return [];
  const spans = scanInnerArray(text, list.start);
  const gone = new Set<number>();
  const omitted: OmittedTool[] = [];
  spans.forEach((span, i) => {
    const name = toolName(text, span);
    const tool = name === undefined ? { omit: 'it has no name' } : translate(name, valueText(text, span));
    if ('omit' in tool) {
      gone.add(i);
      omitted.push({ name: name ?? '', reason: tool.omit });
    } else {
      replaceIfChanged(text, draft, span, tool.text);
    }
  });
  draft.removeElements(spans, gone);
  return omitted;
}

function toolName(text: string, span: Span): string | undefined {
  if (kindOf(text, span) !== 'object') return undefined;
  return stringValue(text, memberOf(scanInnerObject(text, span.start), 'name'));
}

function replaceIfChanged(text: string, draft: Draft, span: Span, value: string): void {
  if (valueText(text, span) !== value) draft.replace(span, value);
}

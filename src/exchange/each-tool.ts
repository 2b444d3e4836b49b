import { type ObjectScan, kindOf, memberOf, scanInnerArray, scanInnerObject } from '../jsonrpc/json-scan.js';
import type { Message } from '../jsonrpc/message.js';

/** The tools in one page of a `tools/list` result, as scanned objects of the page's text. */
export function* eachTool(page: Message): Generator<{ text: string; object: ObjectScan }> {
  const { text } = page;
  const tools = memberOf(page.result?.object, 'tools');
  if (tools === undefined || kindOf(text, tools) !== 'array') return;
  for (const span of scanInnerArray(text, tools.start)) {
    if (kindOf(text, span) === 'object') yield { text, object: scanInnerObject(text, span.start) };
  }
}

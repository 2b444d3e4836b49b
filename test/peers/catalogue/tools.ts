import { askingTools } from './asking-tools.js';
import { contentTools } from './content-tools.js';
import { FixtureError, textResult } from './fixture-tool.js';
import type { Era, FixtureContext, FixtureTool, JsonObject, ToolResult } from './fixture-tool.js';
import { probeTools } from './probe-tools.js';

const TOOLS: FixtureTool[] = [...contentTools, ...askingTools, ...probeTools];

/** The tools a peer of this era offers, in listing order. */
export function toolsOf(era: Era): FixtureTool[] {
  return TOOLS.filter((tool) => tool.era === undefined || tool.era === era);
}

/**
 * `tools/call`. A fixture's own JSON-RPC errors reach the wire; whatever else goes wrong becomes an `isError`
 * result, as with the SDKs' high-level servers. `isControlFlow` marks what must pass through untouched.
 */
export async function callTool(
  name: string,
  args: JsonObject,
  ctx: FixtureContext,
  isControlFlow: (error: unknown) => boolean = () => false,
): Promise<ToolResult> {
  const tool = toolsOf(ctx.era).find((candidate) => candidate.definition.name === name);
  if (!tool) throw new FixtureError(-32602, `Unknown tool: ${name}`);
  try {
    return await tool.run(args, ctx);
  } catch (error) {
    if (error instanceof FixtureError || isControlFlow(error)) throw error;
    return { ...textResult(error instanceof Error ? error.message : String(error)), isError: true };
  }
}

/** One page of a list. The cursor is the offset of its first item; anything else is an invalid parameter. */
export function pageOf(key: string, items: unknown[], cursor: unknown, size: number | undefined): JsonObject {
  const start = cursor === undefined ? 0 : Number(cursor);
  if (!Number.isInteger(start) || start < 0 || start > items.length) {
    throw new FixtureError(-32602, 'Invalid cursor');
  }
  const end = size === undefined ? items.length : start + size;
  return { [key]: items.slice(start, end), ...(end < items.length ? { nextCursor: String(end) } : {}) };
}

import type { LogLevel } from '../translation/log-level.js';

/** What a demo tool can see of the call and do besides returning: neutral of the era that carries it. */
export interface DemoCall {
  readonly era: 'legacy' | 'modern';
  /** The protocol revision the server was addressed in. */
  readonly revision: string;
  /** The client's name as it introduced itself. */
  readonly client: string;
  /** Aborted when the caller cancelled, in its era's way. */
  readonly signal: AbortSignal;
  /** Reports progress; without effect when the caller did not ask for it. */
  progress(done: number, total: number, text: string): void;
  /** Sends a log message; without effect when the caller wants none of this level. */
  log(level: LogLevel, text: string): void;
}

/** A `CallToolResult`, as far as the demo needs one. */
export interface DemoResult {
  readonly content: readonly { readonly type: 'text'; readonly text: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

/** A tool: its definition as `tools/list` shows it, and what it does. */
export interface DemoTool {
  readonly definition: {
    readonly name: string;
    readonly title: string;
    readonly description: string;
    readonly inputSchema: object;
    readonly outputSchema?: object;
  };
  run(args: Readonly<Record<string, unknown>>, call: DemoCall): DemoResult | Promise<DemoResult>;
}

/** A result that is one line of text. */
export function textResult(text: string, structuredContent?: Readonly<Record<string, unknown>>): DemoResult {
  return { content: [{ type: 'text', text }], ...(structuredContent && { structuredContent }) };
}

/**
 * Arguments that do not fit are an error of the tool, not of the protocol, so that a model can correct them.
 * @see /specification/2025-11-25/server/tools#error-handling
 */
export function toolError(text: string): DemoResult {
  return { ...textResult(text), isError: true };
}

export type JsonObject = Record<string, unknown>;

export type Era = 'legacy' | 'modern';

/** A server's request to the client: what legacy sends as a request and modern puts into `input_required`. */
export interface Question {
  readonly method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list';
  readonly params?: JsonObject;
}

export interface AskOptions {
  /** Modern only: answers count only beside the `requestState` this tool sealed. */
  readonly sealed?: boolean;
  /** Ask although the client did not declare the capability: what a careless legacy server does. */
  readonly undeclared?: boolean;
  /** Legacy only: ask on the session's standalone stream, as servers do that lose track of the call. */
  readonly detached?: boolean;
  /** Legacy only: take the questions back after this many milliseconds; the `ask` then rejects. */
  readonly withdrawAfterMs?: number;
}

/** A change a server announces: to legacy sessions by notification, to modern ones on their listen streams. */
export type Change = 'tools' | 'prompts' | 'resources' | { readonly uri: string };

/** Values a server keeps between calls: one per legacy session, one per modern server. */
export interface PeerState {
  counter: number;
  /** The URL elicitation that must be completed first; see `probe_url_required`. */
  pendingUrl?: { readonly elicitationId: string; done: boolean };
}

/** What a fixture's handler may do, in terms that both eras have. Each peer server implements it for its SDK. */
export interface FixtureContext {
  readonly era: Era;
  /** Aborted when the call is cancelled, as opposed to answered. */
  readonly signal: AbortSignal;
  /** The request's `_meta` as received, reserved keys included. */
  readonly meta: JsonObject;
  readonly clientCapabilities: JsonObject;
  readonly state: PeerState;
  /**
   * Puts all questions at once and resolves with their answers by key. A modern handler is left here and entered
   * again from its start on the retry, so nothing before the first `ask` may have effects.
   */
  ask(questions: Record<string, Question>, options?: AskOptions): Promise<Record<string, any>>;
  /** Sends progress when the request carried a token, otherwise does nothing. */
  progress(progress: number, total: number, message: string): Promise<void>;
  log(level: LogLevel, data: unknown): Promise<void>;
  announce(change: Change): Promise<void>;
  /** Legacy only: ends the connection that carries this call, which then goes on (SEP-1699). */
  closeStream(): void;
  /**
   * Legacy only: `notifications/elicitation/complete`, on this call's stream, or on the standalone one when the call
   * is over.
   */
  elicitationComplete(elicitationId: string, detached?: boolean): Promise<void>;
}

export interface ToolResult extends JsonObject {
  content: JsonObject[];
}

export interface FixtureTool {
  /** The entry of `tools/list`, as sent. */
  readonly definition: JsonObject & { readonly name: string; readonly inputSchema: JsonObject };
  /** Where the tool is offered; both by default. */
  readonly era?: Era;
  run(args: JsonObject, ctx: FixtureContext): Promise<ToolResult> | ToolResult;
}

export interface FixturePrompt {
  readonly definition: JsonObject & { readonly name: string };
  get(args: JsonObject, ctx: FixtureContext): Promise<JsonObject> | JsonObject;
}

export const LOG_LEVELS = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Fails the request with this JSON-RPC error; both SDKs take `code` and `data` from the thrown object. */
export class FixtureError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data?: unknown,
  ) {
    super(message);
    this.name = 'FixtureError';
  }
}

export function textResult(text: string): ToolResult {
  return { content: [{ type: 'text', text }] };
}

/** A tool definition with an object schema; `extra` adds members such as `annotations`. */
export function toolDefinition(
  name: string,
  description: string,
  properties: JsonObject = {},
  required: string[] = [],
  extra: JsonObject = {},
): FixtureTool['definition'] {
  const inputSchema: JsonObject = { type: 'object', properties };
  if (required.length > 0) inputSchema['required'] = required;
  return { name, description, inputSchema, ...extra };
}

/** Resolves after `ms`, or at once when the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}

import { randomUUID } from 'node:crypto';
import { inputRequired, inputResponse, McpServer } from '@modelcontextprotocol/server';
import type { InputRequiredResult, RequestStateCodec, ServerContext } from '@modelcontextprotocol/server';
import { FixtureError } from './catalogue/fixture-tool.js';
import type {
  AskOptions,
  Change,
  FixtureContext,
  JsonObject,
  PeerState,
  Question,
} from './catalogue/fixture-tool.js';
import { completeArgument, getPrompt, prompts } from './catalogue/prompts.js';
import { readResource, resources, resourceTemplates } from './catalogue/resources.js';
import { callTool, pageOf, toolsOf } from './catalogue/tools.js';
import type { PeerLog, ToolRun } from './peer-log.js';

/** What a `requestState` of this peer carries: which handler it belongs to and the answers of earlier rounds. */
export interface SealedAnswers {
  readonly target: string;
  readonly round: number;
  readonly answers: Record<string, unknown>;
  readonly nonce: string;
}

export interface ModernExchangeOptions {
  readonly log: PeerLog;
  readonly name: string;
  readonly pageSize: number | undefined;
  readonly cacheHint: { readonly ttlMs: number; readonly cacheScope: 'public' | 'private' } | undefined;
  readonly state: PeerState;
  readonly codec: RequestStateCodec<SealedAnswers>;
  readonly announce: (change: Change) => Promise<void>;
}

const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  logging: {},
  completions: {},
};

const INPUT_SCHEMAS = new Map(
  toolsOf('modern').map(({ definition }) => [definition.name, definition.inputSchema]),
);

/**
 * The HTTP entry takes the schemas for its `Mcp-Param-*` check from an McpServer's registry, but that class turns
 * every error into an `isError` result. So the handlers are installed below it and only the schema lookup is
 * answered here.
 */
class FixtureServer extends McpServer {
  override toolInputSchemaJson(name: string): Record<string, unknown> | undefined {
    return INPUT_SCHEMAS.get(name);
  }
}

/** Thrown through a fixture handler to end the round with `input_required`. */
class Suspended extends Error {
  constructor(readonly result: InputRequiredResult) {
    super('input required');
  }
}

/** Builds the server of one modern request; the SDK wants a fresh one for each. */
export function buildModernServer(options: ModernExchangeOptions): McpServer {
  const lists = [
    'tools/list',
    'prompts/list',
    'resources/list',
    'resources/templates/list',
    'resources/read',
  ];
  const fixture = new FixtureServer(
    { name: options.name, version: '1.0.0', title: 'Modern Peer' },
    {
      capabilities: CAPABILITIES,
      instructions: 'A modern test peer with every fixture of the suite.',
      requestState: { verify: (state, ctx) => options.codec.verify(state, ctx) },
      ...(options.cacheHint && {
        cacheHints: Object.fromEntries(lists.map((method) => [method, options.cacheHint])),
      }),
    },
  );
  const { server } = fixture;
  const { pageSize } = options;
  const page = (key: string, items: unknown[]) => (request: any) =>
    pageOf(key, items, request.params?.cursor, pageSize) as any;

  server.setRequestHandler(
    'tools/list',
    page(
      'tools',
      toolsOf('modern').map((tool) => tool.definition),
    ),
  );
  server.setRequestHandler(
    'prompts/list',
    page(
      'prompts',
      prompts.map((prompt) => prompt.definition),
    ),
  );
  server.setRequestHandler('resources/list', page('resources', resources));
  server.setRequestHandler('resources/templates/list', page('resourceTemplates', resourceTemplates));
  server.setRequestHandler(
    'completion/complete',
    (request) => completeArgument(request.params.argument.value) as any,
  );
  server.setRequestHandler('tools/call', (request, ctx) => runTool(request.params, ctx, options));
  server.setRequestHandler('prompts/get', ({ params }, ctx) =>
    suspendable(() => getPrompt(params.name, params.arguments ?? {}, contextOf(params.name, ctx, options))),
  );
  server.setRequestHandler('resources/read', ({ params }, ctx) =>
    suspendable(() => readResource(params.uri, contextOf(params.uri, ctx, options))),
  );
  return fixture;
}

async function runTool(params: any, ctx: ServerContext, options: ModernExchangeOptions): Promise<any> {
  const { name, arguments: args = {} } = params;
  const run: ToolRun = { name, requestId: ctx.mcpReq.id, sessionId: undefined, args };
  const { log } = options;
  const { signal } = ctx.mcpReq;
  log.noteRun(run);
  // The SDK also aborts the signal when a call ends normally, hence the listener's removal in `finally`.
  const onAbort = (): void => log.noteAborted(run);
  signal.addEventListener('abort', onAbort);
  try {
    const context = contextOf(name, ctx, options);
    const result = await suspendable(() =>
      callTool(name, args, context, (error) => error instanceof Suspended),
    );
    if (!signal.aborted) log.noteFinished(run);
    return result;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

async function suspendable(run: () => Promise<JsonObject>): Promise<any> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof Suspended) return error.result;
    throw error;
  }
}

function contextOf(target: string, ctx: ServerContext, options: ModernExchangeOptions): FixtureContext {
  const { mcpReq } = ctx;
  const envelope = (mcpReq.envelope ?? {}) as JsonObject;
  const meta: JsonObject = { ...mcpReq._meta, ...envelope };
  const sealed = mcpReq.requestState<SealedAnswers>();
  const collected: Record<string, unknown> = { ...sealed?.answers };
  return {
    era: 'modern',
    signal: mcpReq.signal,
    meta,
    clientCapabilities: (envelope['io.modelcontextprotocol/clientCapabilities'] ?? {}) as JsonObject,
    state: options.state,
    ask: (questions, asked) => ask(target, questions, asked, ctx, options, collected),
    progress: async (progress, total, message) => {
      const progressToken = meta['progressToken'] as string | number | undefined;
      if (progressToken === undefined || mcpReq.signal.aborted) return;
      await mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken, progress, total, message },
      });
    },
    log: (level, data) => mcpReq.log(level, data, 'fixture'),
    announce: options.announce,
    closeStream: () => undefined,
    elicitationComplete: () => Promise.resolve(),
  };
}

/** The kind of answer each question wants, in the words of the SDK's `inputResponse`. */
const ANSWER_KIND = {
  'elicitation/create': 'elicit',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
} as const;

async function ask(
  target: string,
  questions: Record<string, Question>,
  asked: AskOptions | undefined,
  ctx: ServerContext,
  options: ModernExchangeOptions,
  collected: Record<string, unknown>,
): Promise<Record<string, any>> {
  const sealed = ctx.mcpReq.requestState<SealedAnswers>();
  if (sealed && sealed.target !== target) {
    throw new FixtureError(-32602, 'The requestState belongs to another request');
  }
  const responses = asked?.sealed && !sealed ? undefined : ctx.mcpReq.inputResponses;
  const missing: Record<string, Question> = {};
  for (const [key, question] of Object.entries(questions)) {
    if (key in collected) continue;
    if (inputResponse(responses, key).kind === ANSWER_KIND[question.method])
      collected[key] = responses?.[key];
    else missing[key] = question;
  }
  if (Object.keys(missing).length === 0) return collected;
  const answers = Object.fromEntries(Object.entries(collected).filter(([key]) => !(key in missing)));
  const needsState = asked?.sealed || Object.keys(answers).length > 0;
  const round = (sealed?.round ?? 0) + 1;
  throw new Suspended(
    inputRequired({
      inputRequests: missing as any,
      ...(needsState && {
        requestState: await options.codec.mint({ target, round, answers, nonce: randomUUID() }, ctx),
      }),
    }),
  );
}

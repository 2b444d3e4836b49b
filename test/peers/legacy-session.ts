import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  CreateMessageResultWithToolsSchema,
  ElicitResultSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListRootsResultSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { ServerNotification, ServerRequest } from '@modelcontextprotocol/sdk/types.js';
import { LOG_LEVELS } from './catalogue/fixture-tool.js';
import type {
  AskOptions,
  Change,
  FixtureContext,
  JsonObject,
  LogLevel,
  PeerState,
  Question,
} from './catalogue/fixture-tool.js';
import { completeArgument, getPrompt, prompts } from './catalogue/prompts.js';
import { readResource, resources, resourceTemplates } from './catalogue/resources.js';
import { callTool, pageOf, toolsOf } from './catalogue/tools.js';
import type { PeerLog, ToolRun } from './peer-log.js';

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** What `initialize` advertises; every list can change and every resource can be watched. */
export const LEGACY_CAPABILITIES = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  logging: {},
  completions: {},
};

const ANSWER_SCHEMAS = {
  'elicitation/create': ElicitResultSchema,
  'sampling/createMessage': CreateMessageResultWithToolsSchema,
  'roots/list': ListRootsResultSchema,
} as const;

const CAPABILITY_OF = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
} as const;

/** Questions wait for people: far longer than the SDK's default of 60 s. */
const ANSWER_TIMEOUT_MS = 600_000;

export interface LegacySessionOptions {
  readonly log: PeerLog;
  readonly name: string;
  readonly pageSize: number | undefined;
  /** Announces to every session of the server, this one included. */
  readonly announce: (change: Change) => Promise<void>;
}

/** One session of the legacy peer: the SDK server with its fixtures, and what the session remembers. */
export class LegacySession {
  readonly server: Server;
  readonly subscriptions = new Set<string>();
  readonly state: PeerState = { counter: 0 };
  logLevel: LogLevel = 'debug';
  transport: StreamableHTTPServerTransport | undefined;

  constructor(private readonly options: LegacySessionOptions) {
    this.server = new Server(
      { name: options.name, version: '1.0.0', title: 'Legacy Peer' },
      {
        capabilities: LEGACY_CAPABILITIES,
        instructions: 'A legacy test peer with every fixture of the suite.',
      },
    );
    this.installTools();
    this.installPrompts();
    this.installResources();
    this.installSettings();
  }

  get id(): string | undefined {
    return this.transport?.sessionId;
  }

  /** The capabilities this client declared at `initialize`. */
  get clientCapabilities(): JsonObject {
    return this.server.getClientCapabilities() ?? {};
  }

  get clientInfo(): { name: string; version: string } | undefined {
    return this.server.getClientVersion();
  }

  /** Sends a change on the standalone stream; a resource update only when this session watches it. */
  async deliver(change: Change): Promise<void> {
    if (change === 'tools') await this.server.sendToolListChanged();
    else if (change === 'prompts') await this.server.sendPromptListChanged();
    else if (change === 'resources') await this.server.sendResourceListChanged();
    else if (this.subscriptions.has(change.uri)) await this.server.sendResourceUpdated({ uri: change.uri });
  }

  private installTools(): void {
    this.server.setRequestHandler(ListToolsRequestSchema, (request) => {
      const definitions = toolsOf('legacy').map((tool) => tool.definition);
      return pageOf('tools', definitions, request.params?.cursor, this.options.pageSize);
    });
    this.server.setRequestHandler(CallToolRequestSchema, async (request, extra) => {
      const { name, arguments: args = {} } = request.params;
      const run: ToolRun = { name, requestId: extra.requestId, sessionId: this.id, args };
      const { log } = this.options;
      log.noteRun(run);
      const onAbort = (): void => log.noteAborted(run);
      extra.signal.addEventListener('abort', onAbort);
      try {
        const result = await callTool(name, args, this.contextOf(extra));
        if (!extra.signal.aborted) log.noteFinished(run);
        return result;
      } finally {
        extra.signal.removeEventListener('abort', onAbort);
      }
    });
  }

  private installPrompts(): void {
    this.server.setRequestHandler(ListPromptsRequestSchema, (request) => {
      const definitions = prompts.map((prompt) => prompt.definition);
      return pageOf('prompts', definitions, request.params?.cursor, this.options.pageSize);
    });
    this.server.setRequestHandler(
      GetPromptRequestSchema,
      (request, extra) =>
        getPrompt(request.params.name, request.params.arguments ?? {}, this.contextOf(extra)) as any,
    );
    this.server.setRequestHandler(
      CompleteRequestSchema,
      (request) => completeArgument(request.params.argument.value) as any,
    );
  }

  private installResources(): void {
    const { pageSize } = this.options;
    this.server.setRequestHandler(ListResourcesRequestSchema, (request) =>
      pageOf('resources', resources, request.params?.cursor, pageSize),
    );
    this.server.setRequestHandler(ListResourceTemplatesRequestSchema, (request) =>
      pageOf('resourceTemplates', resourceTemplates, request.params?.cursor, pageSize),
    );
    this.server.setRequestHandler(
      ReadResourceRequestSchema,
      (request, extra) => readResource(request.params.uri, this.contextOf(extra)) as any,
    );
    this.server.setRequestHandler(SubscribeRequestSchema, (request) => {
      this.subscriptions.add(request.params.uri);
      return {};
    });
    this.server.setRequestHandler(UnsubscribeRequestSchema, (request) => {
      this.subscriptions.delete(request.params.uri);
      return {};
    });
  }

  private installSettings(): void {
    this.server.setRequestHandler(SetLevelRequestSchema, (request) => {
      this.logLevel = request.params.level;
      return {};
    });
  }

  private contextOf(extra: Extra): FixtureContext {
    const meta = (extra._meta ?? {}) as JsonObject;
    const notify = (method: string, params: JsonObject): Promise<void> =>
      extra.sendNotification({ method, params } as any);
    return {
      era: 'legacy',
      signal: extra.signal,
      meta,
      clientCapabilities: this.clientCapabilities,
      state: this.state,
      ask: (questions, options) => this.ask(extra, questions, options),
      progress: async (progress, total, message) => {
        const progressToken = meta['progressToken'];
        if (progressToken === undefined || extra.signal.aborted) return;
        await notify('notifications/progress', { progressToken, progress, total, message });
      },
      log: async (level, data) => {
        if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(this.logLevel)) return;
        await notify('notifications/message', { level, logger: 'fixture', data });
      },
      announce: (change) => this.options.announce(change),
      closeStream: () => extra.closeSSEStream?.(),
      elicitationComplete: (elicitationId, detached = false) => {
        const method = 'notifications/elicitation/complete';
        const params = { elicitationId };
        return detached ? this.server.notification({ method, params }) : notify(method, params);
      },
    };
  }

  private async ask(
    extra: Extra,
    questions: Record<string, Question>,
    options?: AskOptions,
  ): Promise<Record<string, any>> {
    const withdrawn = options?.withdrawAfterMs;
    const signals = withdrawn === undefined ? [] : [AbortSignal.timeout(withdrawn)];
    const requestOptions = {
      signal: AbortSignal.any([extra.signal, ...signals]),
      timeout: ANSWER_TIMEOUT_MS,
    };
    const entries = Object.entries(questions).map(async ([key, question]) => {
      const capability = CAPABILITY_OF[question.method];
      if (!options?.undeclared && !this.clientCapabilities[capability]) {
        throw new Error(`The client did not declare the ${capability} capability`);
      }
      const schema: any = ANSWER_SCHEMAS[question.method];
      const answer = await (options?.detached
        ? this.server.request(question, schema, requestOptions)
        : extra.sendRequest(question as any, schema, requestOptions));
      return [key, answer] as const;
    });
    return Object.fromEntries(await Promise.all(entries));
  }
}

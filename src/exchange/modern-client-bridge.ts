import { Draft } from '../jsonrpc/draft.js';
import { INVALID_PARAMS } from '../jsonrpc/error-code.js';
import { kindOf, memberOf, stringValue } from '../jsonrpc/json-scan.js';
import { type Message, paramString, parseMessage } from '../jsonrpc/message.js';
import { printResult } from '../jsonrpc/print.js';
import type { Logger } from '../telemetry/logger.js';
import { clientCapabilitiesToLegacy } from '../translation/capabilities.js';
import { HEADER_MISMATCH, legacyErrorToModern } from '../translation/error.js';
import { ALL_LEGACY_FEATURES } from '../translation/legacy-features.js';
import { isWanted } from '../translation/log-level.js';
import { checkParamHeaders } from '../translation/param-headers.js';
import { INTERACTIVE_METHODS, portableParams, withoutElicitationId } from '../translation/question.js';
import { legacyResultToModern } from '../translation/result.js';
import { discoverResultFromInitialize, serverInfoOf } from '../translation/server-description.js';
import { legacyToolsToModern } from '../translation/tools-list.js';
import { headerAnnotations } from '../translation/x-mcp-header.js';
import { deriveExchange } from './derive.js';
import type { ClientDescription, Exchange, Introduction, UpstreamHalf } from './exchange.js';
import { IncreasingProgress } from './increasing-progress.js';
import { serveListen } from './listen-service.js';
import type { CompleteOutcome, FailedOutcome, Outcome } from './outcome.js';
import type { Bridge } from './relay.js';
import { introductionOf } from './relay.js';
import type { Question } from './question.js';
import { redraw } from './relabel.js';
import type { RoundLimits } from './input-rounds.js';
import { runWithRequiredUrls } from './required-urls.js';
import { remembering } from './remembering.js';
import { ToolCatalog, type ToolTraits } from './tool-catalog.js';
import { methodNotFound } from './unsupported.js';
import { eachTool } from './each-tool.js';

/** Methods of modern extensions that a legacy upstream serves in another form, or not at all. */
const MODERN_ONLY: ReadonlySet<string> = new Set(['tasks/get', 'tasks/update', 'tasks/cancel']);

/**
 * What a legacy server may send on a request's stream but a modern client must not find there: changes belong to
 * subscriptions, and the other two have no modern counterpart.
 */
const NOT_FOR_REQUESTS: ReadonlySet<string> = new Set([
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
  'notifications/elicitation/complete',
  'notifications/tasks/status',
]);

/**
 * Notifications of a legacy client that only its own session may send: this one belongs to the gateway, which has said
 * them itself, or to other clients as well.
 */
const NOT_FROM_CLIENT: ReadonlySet<string> = new Set([
  'notifications/initialized',
  'notifications/progress',
  'notifications/tasks/status',
]);

/** Modern client, legacy upstream (the M→L column of the translation rows). */
export class ModernClientBridge implements Bridge {
  private readonly tools = new ToolCatalog(readTraits);

  constructor(
    private readonly upstreamName: string,
    private readonly servedRevisions: readonly string[],
    private readonly limits: RoundLimits,
    private readonly log: Logger,
  ) {}

  introduction(introduction: Introduction): Introduction {
    return { ...introduction, client: legacyClient(introduction.client) };
  }

  run(exchange: Exchange, upstream: UpstreamHalf): Promise<Outcome> {
    if (exchange.method === 'subscriptions/listen') {
      return serveListen(exchange, this.introduction(introductionOf(exchange)), upstream);
    }
    return this.runOther(exchange, upstream);
  }

  private async runOther(exchange: Exchange, upstream: UpstreamHalf): Promise<Outcome> {
    const { method } = exchange;
    if (method === 'server/discover') return this.discover(exchange, upstream);
    if (MODERN_ONLY.has(method)) return methodNotFound(method);
    const foreign = foreignRetry(exchange.message);
    if (foreign !== undefined) return foreign;
    const progress = new IncreasingProgress();
    const translated = deriveExchange(exchange, {
      message: withoutRetry(exchange.message),
      client: legacyClient(exchange.client),
      ask: async (questions, withdrawn) => exchange.ask(questions.map(forModernClient), withdrawn),
      headers: withoutParamHeaders(exchange.headers),
      notify: (message) =>
        !progress.passes(message) ||
        NOT_FOR_REQUESTS.has(message.method ?? '') ||
        !isWanted(message, exchange.client.logLevel) ||
        exchange.notify(message),
    });
    if (method === 'tools/call') {
      const problem = await this.checkHeaders(exchange, translated, upstream);
      if (problem !== undefined) return problem;
    }
    const outcome = INTERACTIVE_METHODS.has(method)
      ? await runWithRequiredUrls(translated, upstream, this.limits)
      : await upstream.run(translated);
    return this.translate(outcome, translated);
  }

  async notify(from: Introduction, message: Message, upstream: UpstreamHalf): Promise<void> {
    if (NOT_FROM_CLIENT.has(message.method ?? '')) return;
    await upstream.notify(this.introduction(from), message);
  }

  attach(): void {
    // A modern client has no session, and so nothing to attach.
  }

  private async discover(exchange: Exchange, upstream: UpstreamHalf): Promise<Outcome> {
    const description = await upstream.introduce(this.introduction(introductionOf(exchange)));
    const result = discoverResultFromInitialize(description.message, {
      supportedVersions: this.servedRevisions,
      services: { subscribe: true, listChanged: true },
    });
    return {
      kind: 'complete',
      message: parseMessage(printResult('0', result), { maxDepth: Number.MAX_SAFE_INTEGER }),
    };
  }

  /**
   * X7: the gateway is the server that reads the body, so it compares the headers it recognises with it. A header for a
   * tool whose list nobody asked for yet is looked up; a call without such headers costs no list.
   */
  private async checkHeaders(
    exchange: Exchange,
    translated: Exchange,
    upstream: UpstreamHalf,
  ): Promise<FailedOutcome | undefined> {
    const name = paramString(exchange.message, 'name') ?? '';
    const sent = Object.keys(exchange.headers).some((header) => header.startsWith('mcp-param-'));
    const traits = sent
      ? await this.tools.find(translated, name, upstream)
      : this.tools.peek(translated, name);
    if (traits === undefined || traits.headers.length === 0) return undefined;
    const problem = checkParamHeaders(traits.headers, exchange.message, exchange.headers);
    if (problem === undefined) return undefined;
    return {
      kind: 'failed',
      origin: 'gateway',
      code: HEADER_MISMATCH,
      text: `Header mismatch: ${problem}`,
      status: 400,
    };
  }

  private translate(outcome: Outcome, exchange: Exchange): Outcome {
    if (outcome.kind === 'failed') return translateError(outcome, exchange.method);
    if (outcome.kind === 'inputRequired') return outcome;
    return this.translateResult(outcome, exchange);
  }

  private translateResult(outcome: CompleteOutcome, exchange: Exchange): CompleteOutcome {
    const { message } = outcome;
    const draft = outcome.draft ?? new Draft(message.text);
    const serverInfo = outcome.server === undefined ? undefined : serverInfoOf(outcome.server);
    legacyResultToModern(message, draft, exchange.method, serverInfo === undefined ? {} : { serverInfo });
    if (exchange.method === 'tools/list') {
      this.tools.learn(exchange, message);
      for (const { name, reason } of legacyToolsToModern(message, draft).omitted) {
        this.log.warn({ upstream: this.upstreamName, tool: name, reason }, 'a tool was left out of the list');
      }
    }
    return { kind: 'complete', message, draft };
  }
}

/** A question of a legacy server in modern words. */
function forModernClient(question: Question): Question {
  const portable = portableParams(question.params);
  if (portable === undefined) return { key: question.key, method: question.method };
  const params = question.method === 'elicitation/create' ? withoutElicitationId(portable).params : portable;
  return { ...question, params };
}

/**
 * A retry the gateway knows nothing of: from before a restart, or made up. Running the request anew instead would run
 * the tool twice.
 */
function foreignRetry(message: Message): FailedOutcome | undefined {
  const params = message.params?.object;
  const responses = memberOf(params, 'inputResponses');
  if (responses !== undefined && kindOf(message.text, responses) !== 'object') {
    return invalidParams('inputResponses must be an object');
  }
  if (memberOf(params, 'requestState') === undefined) return undefined;
  return invalidParams('this requestState is unknown, used or expired; send the request again without it');
}

function invalidParams(text: string): FailedOutcome {
  return {
    kind: 'failed',
    origin: 'gateway',
    code: INVALID_PARAMS,
    text: `Invalid params: ${text}`,
    status: 400,
  };
}

/** Answers sent before any question are ignored, and are nothing a legacy server should see. */
function withoutRetry(message: Message): Message {
  const params = message.params?.object;
  if (params === undefined || memberOf(params, 'inputResponses') === undefined) return message;
  const draft = new Draft(message.text);
  draft.remove(params, 'inputResponses');
  return redraw(draft);
}

/** A modern client states its capabilities on every request, and hardly ever other ones. */
const legacyCapabilities = remembering((text) => clientCapabilitiesToLegacy(text, ALL_LEGACY_FEATURES));

function legacyClient(client: ClientDescription): ClientDescription {
  return { ...client, capabilities: legacyCapabilities(client.capabilities) };
}

function withoutParamHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined && !name.startsWith('mcp-param-')) kept[name] = value;
  }
  return kept;
}

function readTraits(page: Message): ReadonlyMap<string, ToolTraits> {
  const traits = new Map<string, ToolTraits>();
  for (const tool of eachTool(page)) {
    const schema = memberOf(tool.object, 'inputSchema');
    const name = stringValue(tool.text, memberOf(tool.object, 'name'));
    if (name === undefined || schema === undefined) continue;
    const annotations = headerAnnotations(tool.text.slice(schema.start, schema.end));
    traits.set(name, { headers: annotations.ok ? annotations.params : [], wrapped: false });
  }
  return traits;
}

function translateError(outcome: FailedOutcome, method: string): FailedOutcome {
  if (outcome.origin === 'gateway') return outcome;
  const { code, text, data } = legacyErrorToModern(outcome.code, outcome.text, outcome.data, method);
  // The legacy status said what it means in a session; towards a modern client the code decides anew.
  const { message, data: _data, status, contradiction: _contradiction, ...rest } = outcome;
  const unchanged = code === outcome.code && text === outcome.text && data === outcome.data;
  const kept = status === 401 || status === 403 || status === 429 || (status !== undefined && status >= 500);
  return {
    ...rest,
    code,
    text,
    ...(data !== undefined && { data }),
    ...(kept && { status }),
    ...(unchanged && message !== undefined && { message }),
  };
}

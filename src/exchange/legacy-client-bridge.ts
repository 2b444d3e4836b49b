import { GATEWAY_CODE, GatewayError } from '../errors/gateway-error.js';
import { Draft } from '../jsonrpc/draft.js';
import { INVALID_PARAMS } from '../jsonrpc/error-code.js';
import { memberOf, stringValue } from '../jsonrpc/json-scan.js';
import { type Message, paramString, parseMessage } from '../jsonrpc/message.js';
import { printResult } from '../jsonrpc/print.js';
import type { Logger } from '../telemetry/logger.js';
import { clientCapabilitiesToModern } from '../translation/capabilities.js';
import { contentToLegacy } from '../translation/content.js';
import { HEADER_MISMATCH, modernErrorToLegacy } from '../translation/error.js';
import type { LegacyFeatures } from '../translation/legacy-features.js';
import { isLogLevel } from '../translation/log-level.js';
import { paramHeaders } from '../translation/param-headers.js';
import { INTERACTIVE_METHODS } from '../translation/question.js';
import { modernResultToLegacy, resultTypeOf } from '../translation/result.js';
import { structuredContentToLegacy } from '../translation/structured-content.js';
import { modernToolsToLegacy } from '../translation/tools-list.js';
import { boundedKey } from './bounded-key.js';
import { changeOf } from './change-filter.js';
import { deriveExchange } from './derive.js';
import { eachTool } from './each-tool.js';
import type { ClientDescription, Exchange, Introduction, UpstreamHalf } from './exchange.js';
import { type RoundLimits, runWithQuestions } from './input-rounds.js';
import { IncreasingProgress } from './increasing-progress.js';
import { keptText } from './kept-text.js';
import { type CompleteOutcome, type FailedOutcome, type Outcome, failure } from './outcome.js';
import type { ResponseCache } from './response-cache.js';
import { type Bridge, introductionOf } from './relay.js';
import { remembering } from './remembering.js';
import { SharedListen } from './shared-listen.js';
import { ToolCatalog, type ToolTraits } from './tool-catalog.js';
import { methodNotFound } from './unsupported.js';

/** Methods of the legacy era that have no counterpart a modern upstream serves. */
const LEGACY_ONLY: ReadonlySet<string> = new Set(['tasks/get', 'tasks/list', 'tasks/result', 'tasks/cancel']);

/** Notifications of the legacy era that end at the gateway. */
const NOT_RELAYED: ReadonlySet<string> = new Set([
  'notifications/initialized',
  'notifications/roots/list_changed',
  'notifications/progress',
  'notifications/tasks/status',
]);

/** Legacy client, modern upstream (the L→M column of the translation rows). */
export class LegacyClientBridge implements Bridge {
  private readonly tools: ToolCatalog;
  /** By revision: the translation of capabilities, which a client states once and every call needs. */
  private readonly capabilities = new Map<string, (text: string) => string>();
  /** One subscription per credential and capabilities. */
  private readonly listens = new Map<string, SharedListen>();

  constructor(
    private readonly upstreamName: string,
    private readonly features: (revision: string) => LegacyFeatures,
    private readonly limits: RoundLimits,
    private readonly log: Logger,
    /** Undefined: nothing is cached. */
    private readonly cache: ResponseCache | undefined,
  ) {
    this.tools = new ToolCatalog(readTraits);
  }

  introduction(introduction: Introduction): Introduction {
    return { ...introduction, client: this.client(introduction.client) };
  }

  async run(exchange: Exchange, upstream: UpstreamHalf): Promise<Outcome> {
    const { method } = exchange;
    if (this.listens.size > 0) {
      const from = this.introduction(introductionOf(exchange));
      this.listens.get(listenKey(from))?.renew(from);
    }
    if (method === 'logging/setLevel') return setLevel(exchange);
    if (method === 'resources/subscribe' || method === 'resources/unsubscribe') {
      return this.subscription(exchange, upstream);
    }
    if (LEGACY_ONLY.has(method)) return methodNotFound(method);
    const progress = new IncreasingProgress();
    const translated = deriveExchange(exchange, {
      client: this.client(exchange.client),
      notify: (message) => !progress.passes(message) || exchange.notify(message),
    });
    if (!INTERACTIVE_METHODS.has(method)) {
      const fetch = () => upstream.run(translated);
      const fetched = this.cache === undefined ? await fetch() : await this.cache.serve(translated, fetch);
      return this.translate(fetched, translated, undefined);
    }
    let traits: ToolTraits | undefined;
    const run =
      method === 'tools/call'
        ? async (round: Exchange) => {
            const called = await this.call(round, upstream);
            traits = called.traits;
            return called.outcome;
          }
        : (round: Exchange) => upstream.run(round);
    const outcome = await runWithQuestions(
      translated,
      run,
      this.limits,
      this.features(exchange.client.revision),
    );
    return this.translate(outcome, translated, traits);
  }

  private async call(
    exchange: Exchange,
    upstream: UpstreamHalf,
  ): Promise<{ outcome: Outcome; traits: ToolTraits | undefined }> {
    const name = paramString(exchange.message, 'name') ?? '';
    let traits = await this.tools.find(exchange, name, upstream);
    let outcome = await upstream.run(withParamHeaders(exchange, traits));
    if (outcome.kind === 'failed' && outcome.code === HEADER_MISMATCH && outcome.origin === 'upstream') {
      // The tool's annotations changed since the list was fetched; a refused call did not run.
      this.tools.forget(exchange);
      traits = await this.tools.find(exchange, name, upstream);
      outcome = await upstream.run(withParamHeaders(exchange, traits));
    }
    return { outcome, traits };
  }

  async notify(from: Introduction, message: Message, upstream: UpstreamHalf): Promise<void> {
    if (NOT_RELAYED.has(message.method ?? '')) return;
    await upstream.notify(this.introduction(from), message);
  }

  attach(from: Introduction, upstream: UpstreamHalf): void {
    const { conversation } = from.caller;
    if (conversation === undefined) return;
    const introduction = this.introduction(from);
    this.listenFor(introduction, upstream).attach(introduction, conversation);
  }

  /** `resources/subscribe` and its opposite, over the subscription this session shares with others. */
  private async subscription(exchange: Exchange, upstream: UpstreamHalf): Promise<Outcome> {
    const { conversation } = exchange.caller;
    const uri = paramString(exchange.message, 'uri');
    if (uri === undefined || conversation === undefined) {
      return { kind: 'failed', origin: 'upstream', code: INVALID_PARAMS, text: '"uri" must be a string' };
    }
    const from = this.introduction(introductionOf(exchange));
    if (exchange.method === 'resources/unsubscribe') {
      this.listens.get(listenKey(from))?.unsubscribe(conversation, uri);
      return emptyResult();
    }
    try {
      await this.listenFor(from, upstream).subscribe(from, conversation, keptText(uri));
    } catch (error) {
      if (error instanceof GatewayError) return failure(error);
      throw error;
    }
    return emptyResult();
  }

  private listenFor(introduction: Introduction, upstream: UpstreamHalf): SharedListen {
    const key = listenKey(introduction);
    let listen = this.listens.get(key);
    if (listen === undefined) {
      listen = new SharedListen(introduction, upstream, this.log, {
        empty: () => this.listens.delete(key),
        change: (change) => this.forget(change),
      });
      this.listens.set(key, listen);
    }
    return listen;
  }

  /** What was learnt of a list is worth nothing once it has changed. */
  private forget(change: Message): void {
    const what = changeOf(change);
    if (what === undefined || !('list' in what)) return;
    this.cache?.invalidate(what.list);
    if (what.list === 'tools') this.tools.clear();
  }

  private client(client: ClientDescription): ClientDescription {
    let translate = this.capabilities.get(client.revision);
    if (translate === undefined) {
      const features = this.features(client.revision);
      translate = remembering((text) => clientCapabilitiesToModern(text, features));
      this.capabilities.set(client.revision, translate);
    }
    return { ...client, capabilities: translate(client.capabilities) };
  }

  private translate(outcome: Outcome, exchange: Exchange, traits: ToolTraits | undefined): Outcome {
    if (outcome.kind === 'failed') return translateError(outcome, exchange.method);
    const { message } = outcome;
    const type = resultTypeOf(message);
    if (outcome.kind === 'inputRequired') {
      // Only the interactive methods may ask; their rounds were driven before this.
      return failure(
        new GatewayError(
          GATEWAY_CODE.upstreamProtocol,
          `the server asked for input during ${exchange.method}`,
          {
            status: 200,
          },
        ),
      );
    }
    if (type !== undefined && type !== 'complete') {
      return failure(
        new GatewayError(
          GATEWAY_CODE.notTranslatable,
          `the server answered with a result of type ${JSON.stringify(type.slice(0, 80))}, which this client's protocol version does not have`,
          { status: 200 },
        ),
      );
    }
    return this.translateResult(outcome, exchange, traits);
  }

  private translateResult(
    outcome: CompleteOutcome,
    exchange: Exchange,
    traits: ToolTraits | undefined,
  ): CompleteOutcome {
    const { message } = outcome;
    const { method } = exchange;
    const features = this.features(exchange.client.revision);
    const draft = outcome.draft ?? new Draft(message.text);
    modernResultToLegacy(message, draft, method);
    if (method === 'tools/list') {
      this.tools.learn(exchange, message);
      for (const { name, reason } of modernToolsToLegacy(message, draft).omitted) {
        this.log.warn({ upstream: this.upstreamName, tool: name, reason }, 'a tool was left out of the list');
      }
    } else if (method === 'tools/call') {
      contentToLegacy(message, draft, features);
      structuredContentToLegacy(message, draft, traits?.wrapped ?? false, features);
    } else if (method === 'prompts/get') {
      contentToLegacy(message, draft, features);
    }
    return { kind: 'complete', message, draft };
  }
}

/** One subscription per credential and capabilities, in the upstream's words: the same for a session as long as it lasts. */
function listenKey({ caller, client }: Introduction): string {
  return `${caller.principal.key} ${boundedKey(client.capabilities)}`;
}

function readTraits(page: Message): ReadonlyMap<string, ToolTraits> {
  const list = modernToolsToLegacy(page, new Draft(page.text));
  const traits = new Map<string, ToolTraits>();
  for (const { text, object } of eachTool(page)) {
    const name = stringValue(text, memberOf(object, 'name'));
    if (name === undefined) continue;
    traits.set(name, { headers: list.headers.get(name) ?? [], wrapped: list.wrapped.has(name) });
  }
  return traits;
}

function withParamHeaders(exchange: Exchange, traits: ToolTraits | undefined): Exchange {
  if (traits === undefined || traits.headers.length === 0) return exchange;
  return deriveExchange(exchange, {
    headers: { ...exchange.headers, ...paramHeaders(traits.headers, exchange.message) },
  });
}

function translateError(outcome: FailedOutcome, method: string): FailedOutcome {
  if (outcome.origin === 'gateway') return outcome;
  const { code, text, data } = modernErrorToLegacy(outcome.code, outcome.text, outcome.data, method);
  const unchanged = code === outcome.code && text === outcome.text && data === outcome.data;
  const { message: _message, data: _data, contradiction: _contradiction, ...rest } = outcome;
  if (unchanged) return outcome;
  return { ...rest, code, text, ...(data !== undefined && { data }) };
}

/** Held by the session and sent with each request (X23); nothing is sent upstream now. */
function setLevel(exchange: Exchange): Outcome {
  const { message } = exchange;
  const level = stringValue(message.text, memberOf(message.params?.object, 'level'));
  if (!isLogLevel(level)) {
    return {
      kind: 'failed',
      origin: 'upstream',
      code: INVALID_PARAMS,
      text: 'level must be one of the eight log levels',
    };
  }
  return emptyResult();
}

function emptyResult(): Outcome {
  return { kind: 'complete', message: parseMessage(printResult('0', '{}'), { maxDepth: 4 }) };
}

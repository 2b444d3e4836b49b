import type { AdapterContext, DownstreamHalf, Incoming } from '../../adapter.js';
import { principalOfRequest } from '../../../src/auth/principal.js';
import { GatewayError } from '../../../src/errors/gateway-error.js';
import type { Activity } from '../../../src/exchange/activity.js';
import type { Caller, ClientDescription, Era, Relay } from '../../../src/exchange/exchange.js';
import { keptText } from '../../../src/exchange/kept-text.js';
import { paramHeaders, traceHeaders } from '../../../src/exchange/passed-headers.js';
import type { HttpReply, HttpRequest } from '../../../src/http/port.js';
import { type Outcome, failure } from '../../../src/exchange/outcome.js';
import { Draft } from '../../../src/jsonrpc/draft.js';
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  METHOD_NOT_FOUND,
} from '../../../src/jsonrpc/error-code.js';
import { type Message, paramString } from '../../../src/jsonrpc/message.js';
import { reservedMeta, reservedMetaString } from '../../../src/translation/reserved-meta.js';
import { LATEST_MODERN } from '../revisions.js';
import { ModernExchange, lacksCapability } from './exchange.js';
import { inputResponsesOf } from './input-responses.js';
import { Leg } from './leg.js';
import { Parking } from './parking.js';
import {
  type ValidationOptions,
  checkNotification,
  checkRetryHeaders,
  describeClient,
} from './validation.js';

/** What the modern era no longer has. @see /specification/2026-07-28/changelog */
const REMOVED_METHODS: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/list',
  'tasks/result',
]);

/** The gateway as a modern server. @see /specification/2026-07-28/basic/transports/streamable-http */
export class ModernEndpoint implements DownstreamHalf {
  readonly era: Era = 'modern';
  private readonly parking: Parking<ModernExchange>;
  /** Everything that runs, parked or not. */
  private readonly running = new Set<ModernExchange>();
  /** Subscriptions, to be ended properly when the gateway goes. */
  private readonly listening = new Set<ModernExchange>();
  private readonly validation: ValidationOptions;

  constructor(private readonly context: AdapterContext) {
    const { limits, timeouts, compat } = context.config;
    this.validation = {
      servedRevisions: context.servedRevisions,
      hybridClients: compat.hybridClients,
      descriptionCharacters: limits.clientDescriptionCharacters,
    };
    this.parking = new Parking(context.instance, {
      parkMs: timeouts.parkMs,
      perPrincipal: limits.parkedPerPrincipal,
      bytesPerPrincipal: limits.parkedBytesPerPrincipal,
      retryAfterSeconds: limits.retryAfterSeconds,
    });
  }

  async serve(request: HttpRequest, incoming: Incoming, reply: HttpReply, relay: Relay): Promise<void> {
    const [message] = incoming.messages;
    if (request.method !== 'POST' || message === undefined || incoming.batch) {
      throw new GatewayError(
        INVALID_REQUEST,
        'the body of a POST is a single JSON-RPC request or notification',
        {
          status: 400,
        },
      );
    }
    const authorization = request.headers['authorization'];
    const caller: Caller = {
      principal: principalOfRequest(request),
      remoteAddress: request.remoteAddress,
      ...(authorization !== undefined && { authorization }),
    };
    if (message.kind === 'request') await this.request(request, message, reply, relay, caller);
    else if (message.kind === 'notification') this.notification(request, message, reply, relay, caller);
    else {
      throw new GatewayError(
        INVALID_REQUEST,
        'a client sends no JSON-RPC responses in this protocol version',
        {
          status: 400,
        },
      );
    }
  }

  activity(): Activity {
    let questions = 0;
    for (const exchange of this.parking) questions += exchange.openQuestions;
    return { sessions: 0, parked: this.parking.size, questions };
  }

  endSubscriptions(): void {
    for (const exchange of this.listening) exchange.endSubscription();
  }

  async close(): Promise<void> {
    this.endSubscriptions();
    this.parking.close();
    for (const exchange of this.running) exchange.shutDown();
    return Promise.resolve();
  }

  private async request(
    request: HttpRequest,
    message: Message,
    reply: HttpReply,
    relay: Relay,
    caller: Caller,
  ): Promise<void> {
    const { config } = this.context;
    const described = describeClient(request, message, this.validation);
    const client = message.method === 'subscriptions/listen' ? keptDescription(described) : described;
    if (REMOVED_METHODS.has(message.method ?? '')) {
      throw new GatewayError(METHOD_NOT_FOUND, `Method not found: ${message.method ?? ''}`, { status: 404 });
    }
    const legOptions = {
      commitMs: config.timeouts.streamCommitMs,
      highWaterBytes: config.limits.streamBufferBytes,
    };
    const headers = { ...traceHeaders(request), ...paramHeaders(request) };
    const state = paramString(message, 'requestState');
    if (state !== undefined && this.parking.isHandle(state)) {
      const { exchange, answers } = this.returning(state, message, { client, caller }, relay.name);
      checkRetryHeaders(exchange.headers, headers);
      this.parking.take(state);
      const leg = new Leg(message, reply, legOptions);
      exchange.resume(leg, client, answers);
      await leg.done;
      return;
    }
    const leg = new Leg(message, reply, legOptions);
    const exchange = new ModernExchange(message, client, caller, headers, leg, this.parking, relay.name);
    void this.run(exchange, relay);
    if (exchange.method !== 'subscriptions/listen') {
      await leg.done;
      return;
    }
    this.listening.add(exchange);
    leg.onDone(() => this.listening.delete(exchange));
    // It may last for hours, and nothing of the request but what the exchange keeps is needed any more.
    reply.defer();
  }

  /** The exchange outlives the response it began with, so nobody awaits it but itself. */
  private async run(exchange: ModernExchange, relay: Relay): Promise<void> {
    this.running.add(exchange);
    try {
      const outcome = await relay.run(exchange);
      exchange.finish(exchange.method === 'server/discover' ? this.withServedRevisions(outcome) : outcome);
    } catch (error) {
      this.context.log.error({ err: error, method: exchange.method }, 'an exchange failed unexpectedly');
      exchange.finish(failure(new GatewayError(INTERNAL_ERROR, 'internal error', { status: 500 })));
    } finally {
      this.running.delete(exchange);
    }
  }

  /**
   * The exchange a retry belongs to, and the answers it brings.
   * @throws GatewayError -32602 for every way to misuse a handle, -32021 for one that leaves open what it cannot be asked
   * again; nothing is run, and a handle that is good stays so
   */
  private returning(
    state: string,
    message: Message,
    { client, caller }: { client: ClientDescription; caller: Caller },
    upstreamName: string,
  ): { exchange: ModernExchange; answers: ReadonlyMap<string, string> } {
    const exchange = this.parking.find(state, caller.principal.key);
    if (exchange === undefined) {
      throw invalidParams('this requestState is unknown, used or expired; send the request again without it');
    }
    if (!exchange.isSame(message, upstreamName)) {
      throw invalidParams(
        'this requestState belongs to a request with another method, name or arguments, or to another upstream',
      );
    }
    const answers = inputResponsesOf(message);
    const problem = exchange.answersProblem(answers);
    if (problem !== undefined) throw invalidParams(problem);
    const missing = exchange.missingToAskAgain(client, answers);
    if (missing !== undefined) throw lacksCapability(missing);
    return { exchange, answers };
  }

  /**
   * Whatever the upstream speaks, its clients speak to the gateway: what it can be spoken to in is the gateway's to say.
   * A version that only the upstream knows would be refused here.
   */
  private withServedRevisions(outcome: Outcome): Outcome {
    const result = outcome.kind === 'complete' ? outcome.message.result?.object : undefined;
    if (outcome.kind !== 'complete' || result === undefined) return outcome;
    const draft = outcome.draft ?? new Draft(outcome.message.text);
    draft.set(result, 'supportedVersions', JSON.stringify(this.context.servedRevisions));
    return { ...outcome, draft };
  }

  /**
   * A modern client has no notification of the core protocol to post; `notifications/cancelled` is sent by some when they
   * close a subscription, after closing its stream has said the same. Vendors' own are passed on.
   * @throws GatewayError headers and body contradict each other, or name a version nobody here serves
   */
  private notification(
    request: HttpRequest,
    message: Message,
    reply: HttpReply,
    relay: Relay,
    caller: Caller,
  ): void {
    checkNotification(request, message, this.validation);
    if (message.method !== 'notifications/cancelled') {
      const clientInfo = reservedMeta(message, 'clientInfo');
      const from = {
        era: this.era,
        client: {
          revision: reservedMetaString(message, 'protocolVersion') ?? LATEST_MODERN,
          capabilities: reservedMeta(message, 'clientCapabilities') ?? '{}',
          ...(clientInfo !== undefined && { clientInfo }),
        },
        caller,
        headers: traceHeaders(request),
        signal: new AbortController().signal,
      };
      relay.notify(from, message).catch((error: unknown) => {
        const problem = error instanceof Error ? error.message : 'unknown';
        this.context.log.debug(
          { method: message.method, problem },
          'a notification did not reach the upstream',
        );
      });
    }
    reply.empty(202);
  }
}

/** A description to be kept for long, without the message it was read from. */
function keptDescription({
  revision,
  capabilities,
  clientInfo,
  logLevel,
}: ClientDescription): ClientDescription {
  return {
    revision: keptText(revision),
    capabilities: keptText(capabilities),
    ...(clientInfo !== undefined && { clientInfo: keptText(clientInfo) }),
    ...(logLevel !== undefined && { logLevel: keptText(logLevel) }),
  };
}

function invalidParams(text: string): GatewayError {
  return new GatewayError(INVALID_PARAMS, `Invalid params: ${text}`, { status: 400 });
}

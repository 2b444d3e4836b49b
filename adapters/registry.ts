import type { DownstreamContext, DownstreamHalf, Incoming, UpstreamContext } from './adapter.js';
import { clientEra } from './client-era.js';
import { startLegacyDemo } from './2025-11-25/demo-server.js';
import { sessionOwner } from './2025-11-25/downstream/session.js';
import { LegacyEndpoint } from './2025-11-25/downstream/endpoint.js';
import { legacyFeatures } from './2025-11-25/features.js';
import { LATEST_LEGACY, LEGACY_REVISIONS } from './2025-11-25/revisions.js';
import { LegacyUpstream } from './2025-11-25/upstream/upstream.js';
import { startModernDemo } from './2026-07-28/demo-server.js';
import { handleOwner } from './2026-07-28/downstream/parking.js';
import { ModernEndpoint } from './2026-07-28/downstream/endpoint.js';
import { LATEST_MODERN, MODERN_REVISIONS, isModernRevision } from './2026-07-28/revisions.js';
import { ModernUpstream } from './2026-07-28/upstream/upstream.js';
import { principalOfRequest } from '../src/auth/principal.js';
import type { Cluster } from '../src/cluster/cluster.js';
import { GATEWAY_CODE, GatewayError } from '../src/errors/gateway-error.js';
import type { Activity } from '../src/exchange/activity.js';
import type { Era, Relay, UpstreamHalf } from '../src/exchange/exchange.js';
import type { HttpReply, HttpRequest } from '../src/http/port.js';
import { INVALID_REQUEST } from '../src/jsonrpc/error-code.js';
import { JsonScanError, firstToken, scanArrayText } from '../src/jsonrpc/json-scan.js';
import {
  InvalidMessageError,
  type Message,
  type RawId,
  paramString,
  parseMessage,
} from '../src/jsonrpc/message.js';
import { printError } from '../src/jsonrpc/print.js';

export { LATEST_LEGACY, LATEST_MODERN, legacyFeatures };

/** Every revision the gateway serves, modern ones first. */
export const SERVED_REVISIONS: readonly string[] = [...MODERN_REVISIONS, ...LEGACY_REVISIONS];

/** A small server of each era, for people who have none at hand. */
export const DEMO_SERVERS = { legacy: startLegacyDemo, modern: startModernDemo } as const;

/** The client side of both eras for one upstream. */
export function createUpstreamHalves(context: UpstreamContext): Record<Era, UpstreamHalf> {
  return { legacy: new LegacyUpstream(context), modern: new ModernUpstream(context) };
}

/** The server side of both eras behind one endpoint: each request is served by the era it belongs to. */
export class Endpoint {
  /** The other instances, when there are any. */
  cluster: Cluster | undefined;
  private readonly legacy: LegacyEndpoint;
  private readonly modern: ModernEndpoint;

  constructor(private readonly context: DownstreamContext) {
    this.legacy = new LegacyEndpoint(context);
    this.modern = new ModernEndpoint(context);
  }

  /** Serves one request towards one upstream. Answers every error itself. */
  async serve(request: HttpRequest, reply: HttpReply, relay: Relay): Promise<void> {
    // What stands for an id that could not be read.
    let id: RawId | undefined = unreadId(request);
    try {
      const incoming = this.read(request);
      if (!incoming.batch && incoming.messages[0] !== undefined) id = idOf(incoming.messages[0]);
      if (await this.elsewhere(request, incoming, reply, relay)) return;
      const lookingUp = this.legacy.lookUp(request);
      const holder = lookingUp === undefined ? undefined : await lookingUp;
      if (holder !== undefined) {
        await this.forward(holder, request, reply, relay);
        return;
      }
      const era = clientEra(request, incoming, this.legacy.knows(request));
      const half: DownstreamHalf = era === 'legacy' ? this.legacy : this.modern;
      await half.serve(request, incoming, reply, relay);
    } catch (error) {
      const refusal = toGatewayError(error);
      if (reply.started) throw error;
      const failedId = error instanceof InvalidMessageError ? (error.id ?? id) : id;
      const { code, message, data, status, headers } = refusal;
      reply.json(status, printError(failedId, code, message, data), headers);
    }
  }

  /** Hands a request to the instance that holds what it belongs to. False when that is this one, or nobody. */
  private async elsewhere(
    request: HttpRequest,
    incoming: Incoming,
    reply: HttpReply,
    relay: Relay,
  ): Promise<boolean> {
    const { cluster } = this;
    if (cluster === undefined || request.principal !== undefined) return false;
    const owner = ownerOf(request, incoming);
    if (owner === undefined || !(await cluster.isElsewhere(owner))) return false;
    await cluster.forward(owner, relay.name, request, principalOfRequest(request), reply);
    return true;
  }

  /** A session that moved when its first instance died. */
  private async forward(holder: string, request: HttpRequest, reply: HttpReply, relay: Relay): Promise<void> {
    if (this.cluster === undefined) {
      const text = 'the session is held by another instance, or by one that has just died; try again';
      throw new GatewayError(GATEWAY_CODE.overloaded, text, { status: 503, headers: { 'Retry-After': '1' } });
    }
    await this.cluster.forward(holder, relay.name, request, principalOfRequest(request), reply);
  }

  activity(): Activity {
    const [legacy, modern] = [this.legacy.activity(), this.modern.activity()];
    return {
      sessions: legacy.sessions + modern.sessions,
      parked: legacy.parked + modern.parked,
      questions: legacy.questions + modern.questions,
    };
  }

  /** Ends what would never end by itself, each with its proper end. */
  endSubscriptions(): void {
    this.modern.endSubscriptions();
  }

  async close(): Promise<void> {
    await Promise.all([this.legacy.close(), this.modern.close()]);
  }

  private read(request: HttpRequest): Incoming {
    if (request.method !== 'POST') return { messages: [], batch: false };
    const { jsonDepth, batchSize } = this.context.config.limits;
    const options = { maxDepth: jsonDepth };
    if (firstToken(request.body) !== '[') {
      return { messages: [parseMessage(request.body, options)], batch: false };
    }
    const spans = scanArrayText(request.body, jsonDepth);
    if (spans.length === 0 || spans.length > batchSize) {
      throw new GatewayError(INVALID_REQUEST, `a batch has between 1 and ${batchSize} messages`, {
        status: 400,
      });
    }
    const messages = spans.map(({ start, end }) => parseMessage(request.body.slice(start, end), options));
    return { messages, batch: true };
  }
}

/** The instance that holds what a request belongs to: its session, or the parked call it comes back to. */
function ownerOf(request: HttpRequest, incoming: Incoming): string | undefined {
  const [message] = incoming.messages;
  if (message?.kind === 'request' && message.method === 'initialize') return undefined;
  const session = request.headers['mcp-session-id'];
  const owner = session === undefined ? undefined : sessionOwner(session);
  if (owner !== undefined) return owner;
  const state = message?.kind === 'request' ? paramString(message, 'requestState') : undefined;
  return state === undefined ? undefined : handleOwner(state);
}

/** `id: null` is what JSON-RPC asks for when no id could be read, and what the modern era forbids. */
function unreadId(request: HttpRequest): RawId | undefined {
  return isModernRevision(request.headers['mcp-protocol-version']) ? undefined : 'null';
}

/** The id an error about a message carries: that of a request; what is answered by a status only has none. */
function idOf({ kind, id }: Message): RawId | undefined {
  return kind === 'request' ? id : undefined;
}

function toGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof InvalidMessageError)
    return new GatewayError(error.code, error.message, { status: 400 });
  if (error instanceof JsonScanError) {
    return new GatewayError(-32700, `not valid JSON: ${error.message}`, { status: 400 });
  }
  throw error;
}

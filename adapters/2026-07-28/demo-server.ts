import { clientName, demoCall, demoParams } from '../../src/demo/call.js';
import { DEMO_CAPABILITIES, DemoRefusal, demoAnswer } from '../../src/demo/catalogue.js';
import { type DemoReply, type RunningDemo, listenOnLoopback } from '../../src/demo/http.js';
import { GatewayError } from '../../src/errors/gateway-error.js';
import type { ClientDescription } from '../../src/exchange/exchange.js';
import type { HttpRequest } from '../../src/http/port.js';
import { INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND } from '../../src/jsonrpc/error-code.js';
import { InvalidMessageError, type Message, parseMessage } from '../../src/jsonrpc/message.js';
import { printError, printNotification, printResult } from '../../src/jsonrpc/print.js';
import { IMPLEMENTATION } from '../../src/telemetry/implementation.js';
import { isLogLevel } from '../../src/translation/log-level.js';
import { RESERVED_META } from '../../src/translation/reserved-meta.js';
import { describeClient } from './downstream/validation.js';
import { MODERN_REVISIONS } from './revisions.js';

/** What the demo offers never changes while it runs. @see /specification/2026-07-28/server/utilities/caching */
const CACHEABLE: ReadonlySet<string> = new Set([
  'server/discover',
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
]);

const TTL_MS = 60_000;

/** Starts a small server of the modern era on loopback: stateless, strict about headers, the tools of `src/demo`. */
export function startModernDemo(): Promise<RunningDemo> {
  return listenOnLoopback(serve);
}

async function serve(request: HttpRequest, reply: DemoReply): Promise<void> {
  if (request.method !== 'POST') {
    reply.empty(405, { Allow: 'POST' });
    return;
  }
  let message: Message | undefined;
  try {
    message = parseMessage(request.body, { maxDepth: 64 });
    if (message.kind === 'notification') {
      reply.empty(202);
      return;
    }
    if (message.kind !== 'request') {
      throw new GatewayError(INVALID_REQUEST, 'a client sends no responses', { status: 400 });
    }
    const client = describeClient(request, message, {
      servedRevisions: MODERN_REVISIONS,
      hybridClients: false,
      descriptionCharacters: Number.POSITIVE_INFINITY,
    });
    await answer(message, client, reply);
  } catch (error) {
    const { code, text, status, data } = errorOf(error);
    const id = error instanceof InvalidMessageError ? error.id : message?.id;
    reply.json(status, printError(id, code, text, data));
  }
}

async function answer(message: Message, client: ClientDescription, reply: DemoReply): Promise<void> {
  const method = message.method ?? '';
  if (method === 'subscriptions/listen') {
    acknowledge(message, reply);
    return;
  }
  const abort = new AbortController();
  // Closing the stream is the cancellation. @see /specification/2026-07-28/basic/patterns/cancellation
  reply.onClose(() => abort.abort());
  const { revision, clientInfo = '{}', logLevel } = client;
  const call = demoCall(message, reply, {
    era: 'modern',
    revision,
    client: clientName(JSON.parse(clientInfo)),
    signal: abort.signal,
    ...(isLogLevel(logLevel) && { logLevel }),
  });
  let result: object | undefined;
  try {
    result =
      method === 'server/discover'
        ? { supportedVersions: MODERN_REVISIONS, capabilities: DEMO_CAPABILITIES }
        : await demoAnswer(method, demoParams(message), call);
  } catch (error) {
    // Nobody is there to hear of it.
    if (abort.signal.aborted) return;
    throw error;
  }
  if (result === undefined) {
    throw new GatewayError(METHOD_NOT_FOUND, `Method not found: ${method}`, { status: 404 });
  }
  const complete = {
    resultType: 'complete',
    ...result,
    ...(CACHEABLE.has(method) && { ttlMs: TTL_MS, cacheScope: 'public' }),
    _meta: { [RESERVED_META.serverInfo]: { name: 'modern-demo', version: IMPLEMENTATION.version } },
  };
  reply.json(200, printResult(message.id ?? 'null', JSON.stringify(complete)));
}

/**
 * Nothing here ever changes: the subscription is acknowledged as one to nothing, and stays open.
 * @see /specification/2026-07-28/basic/patterns/subscriptions#acknowledgment
 */
function acknowledge(message: Message, reply: DemoReply): void {
  const meta = `{${JSON.stringify(RESERVED_META.subscriptionId)}:${message.id ?? 'null'}}`;
  reply.event(
    printNotification('notifications/subscriptions/acknowledged', `{"_meta":${meta},"notifications":{}}`),
  );
}

function errorOf(error: unknown): { code: number; text: string; status: number; data?: string } {
  if (error instanceof GatewayError) {
    const { code, message: text, status, data } = error;
    return { code, text, status, ...(data !== undefined && { data }) };
  }
  if (error instanceof InvalidMessageError) return { code: error.code, text: error.message, status: 400 };
  if (error instanceof DemoRefusal) {
    const data = error.uri === undefined ? undefined : JSON.stringify({ uri: error.uri });
    return { code: INVALID_PARAMS, text: error.message, status: 200, ...(data !== undefined && { data }) };
  }
  throw error;
}

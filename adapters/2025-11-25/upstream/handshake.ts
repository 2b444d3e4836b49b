import type { UpstreamContext } from '../../adapter.js';
import { LATEST_LEGACY, isLegacyRevision } from '../revisions.js';
import { authorizationFor } from '../../../src/auth/upstream-authorization.js';
import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';
import type { Introduction } from '../../../src/exchange/exchange.js';
import { Draft } from '../../../src/jsonrpc/draft.js';
import { memberOf, scanInnerObject, stringValue } from '../../../src/jsonrpc/json-scan.js';
import { type Message, idKey } from '../../../src/jsonrpc/message.js';
import { printNotification, printRequest } from '../../../src/jsonrpc/print.js';
import { IMPLEMENTATION } from '../../../src/telemetry/implementation.js';
import { nextId } from '../../../src/upstreams/id-source.js';
import { readResponse } from '../../../src/upstreams/response-reader.js';
import { errorMessageIn, statusError, upstreamError } from '../../../src/upstreams/upstream-error.js';
import { withTimeout } from '../../../src/upstreams/with-timeout.js';
import { readMessages } from './incoming.js';
import { UpstreamSession } from './session.js';
import type { StreamPatience } from './stream-patience.js';

/**
 * Opens a session: `initialize`, and for clients that will not send it themselves, `notifications/initialized`.
 * @throws GatewayError the upstream cannot be reached, refuses, or is no legacy server
 * @see /specification/2025-11-25/basic/lifecycle#initialization
 */
export async function openSession(
  context: UpstreamContext,
  key: string,
  introduction: Introduction,
  patience: StreamPatience,
): Promise<UpstreamSession> {
  const id = nextId();
  const text = initializeRequest(id, introduction);
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const authorization = authorizationFor(context.upstream, introduction.caller);
  if (authorization !== undefined) headers['authorization'] = authorization;
  Object.assign(headers, introduction.headers);

  let answer: Message | undefined;
  let resolveAnswer: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => (resolveAnswer = resolve));
  let sessionId: string | undefined;
  const reading = readResponse(
    context.http,
    { method: 'POST', headers, body: text },
    {
      onText: (json) => {
        for (const message of readMessages(json, context)) {
          if (message.kind !== 'result' && message.kind !== 'error') continue;
          if (message.id !== undefined && idKey(message.id) !== idKey(id)) continue;
          answer ??= message;
          resolveAnswer();
        }
      },
      onHead: (head) => {
        const value = head.headers['mcp-session-id'];
        sessionId = Array.isArray(value) ? value[0] : value;
      },
    },
    { maxBytes: context.config.limits.upstreamMessageBytes },
  );
  const finished = withTimeout(reading, context.config.timeouts.initializeMs, `the upstream ${context.name}`);
  const end = await Promise.race([finished, answered.then(() => undefined)]);
  if (answer === undefined) {
    if (end?.kind === 'failed') throw end.error;
    if (end?.kind === 'status') throw refusal(end.head, end.body, context);
    throw new GatewayError(
      GATEWAY_CODE.upstreamProtocol,
      `the upstream ${context.name} answered initialize with no JSON-RPC response`,
      { status: 502 },
    );
  }
  if (answer.kind === 'error') {
    const { code, text: message, data } = upstreamError(answer);
    throw new GatewayError(code, message, { status: 200, ...(data !== undefined && { data }) });
  }
  const revision = stringValue(answer.text, memberOf(answer.result?.object, 'protocolVersion'));
  if (!isLegacyRevision(revision)) {
    throw new GatewayError(
      GATEWAY_CODE.upstreamProtocol,
      `the upstream ${context.name} negotiated a protocol version this gateway does not know`,
      { status: 502 },
    );
  }
  if (sessionId !== undefined && !/^[\x21-\x7e]{1,1024}$/.test(sessionId)) {
    throw new GatewayError(
      GATEWAY_CODE.upstreamProtocol,
      `the upstream ${context.name} sent a session id that is not visible ASCII`,
      { status: 502 },
    );
  }
  const session = new UpstreamSession(
    context,
    key,
    sessionId,
    revision,
    answer,
    introduction.caller,
    introduction.client.capabilities,
  );
  // A legacy client sends its own `initialized` when it is ready for what the server may ask at once.
  if (introduction.caller.conversation === undefined) {
    const asked = mayBeAsked(introduction.client.capabilities);
    // The stream on which the server may ask outside any call, which some do as soon as they hear `initialized`, and others
    // in their first call. With nowhere to put the question they drop it, and wait for the answer for ever.
    if (asked) await patience.wait(session.openStream());
    await session.post(printNotification('notifications/initialized'), introduction.caller);
    // A server may have refused the stream only because it was early.
    if (asked) void session.openStream();
  }
  return session;
}

/** Whether the capabilities let a server ask anything. */
function mayBeAsked(capabilities: string): boolean {
  const { members } = scanInnerObject(capabilities, 0);
  return members.some(({ key }) => key === 'elicitation' || key === 'sampling' || key === 'roots');
}

function initializeRequest(id: string, introduction: Introduction): string {
  const { message, client } = introduction;
  if (message?.method === 'initialize' && message.params?.object !== undefined) {
    const draft = new Draft(message.text);
    draft.set(message.root, 'id', id);
    draft.set(message.params.object, 'protocolVersion', JSON.stringify(client.revision));
    return draft.print();
  }
  const revision = isLegacyRevision(client.revision) ? client.revision : LATEST_LEGACY;
  const info = client.clientInfo ?? JSON.stringify(IMPLEMENTATION);
  const params = `{"protocolVersion":${JSON.stringify(revision)},"capabilities":${client.capabilities},"clientInfo":${info}}`;
  return printRequest(id, 'initialize', params);
}

function refusal(
  head: Parameters<typeof statusError>[0],
  body: string,
  context: UpstreamContext,
): GatewayError {
  const message = errorMessageIn(body, context.config.limits.jsonDepth);
  if (message === undefined) return statusError(head, context.name);
  const { code, text, data, headers } = upstreamError(message, head);
  return new GatewayError(code, text, {
    status: head.status,
    ...(data !== undefined && { data }),
    ...(headers !== undefined && { headers }),
  });
}

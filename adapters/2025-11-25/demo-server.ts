import { randomBytes } from 'node:crypto';
import { clientName, demoCall, demoParams } from '../../src/demo/call.js';
import { DEMO_CAPABILITIES, DemoRefusal, demoAnswer } from '../../src/demo/catalogue.js';
import { type DemoReply, type RunningDemo, listenOnLoopback } from '../../src/demo/http.js';
import type { HttpRequest } from '../../src/http/port.js';
import { INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND } from '../../src/jsonrpc/error-code.js';
import { memberOf, valueText } from '../../src/jsonrpc/json-scan.js';
import { InvalidMessageError, type Message, idKey, parseMessage } from '../../src/jsonrpc/message.js';
import { printError, printResult } from '../../src/jsonrpc/print.js';
import { IMPLEMENTATION } from '../../src/telemetry/implementation.js';
import { type LogLevel, levelOf } from '../../src/translation/log-level.js';
import { LATEST_LEGACY, isLegacyRevision } from './revisions.js';

const RESOURCE_NOT_FOUND = -32002;
const MAX_SESSIONS = 1000;

/** One client's session. @see /specification/2025-11-25/basic/transports#session-management */
interface Session {
  readonly id: string;
  readonly revision: string;
  readonly client: string;
  logLevel: LogLevel;
  /** Calls in progress, by the key of their id. */
  readonly running: Map<string, AbortController>;
  stream?: DemoReply;
}

/** Starts a small server of the legacy era on loopback: sessions, the GET stream, the tools of `src/demo`. */
export function startLegacyDemo(): Promise<RunningDemo> {
  const server = new LegacyDemo();
  return listenOnLoopback((request, reply) => server.serve(request, reply));
}

class LegacyDemo {
  private readonly sessions = new Map<string, Session>();

  async serve(request: HttpRequest, reply: DemoReply): Promise<void> {
    if (request.method === 'POST') {
      let message: Message;
      try {
        message = parseMessage(request.body, { maxDepth: 64 });
      } catch (error) {
        if (!(error instanceof InvalidMessageError)) throw error;
        reply.json(400, printError(error.id ?? 'null', error.code, error.message));
        return;
      }
      if (message.method === 'initialize') this.initialize(message, reply);
      else await this.inSession(request, reply, (session) => this.post(message, session, reply));
      return;
    }
    await this.inSession(request, reply, (session) => {
      if (request.method === 'GET') this.listen(session, reply);
      else this.end(session, reply);
    });
  }

  private async inSession(
    request: HttpRequest,
    reply: DemoReply,
    go: (session: Session) => Promise<void> | void,
  ): Promise<void> {
    const id = request.headers['mcp-session-id'];
    const version = request.headers['mcp-protocol-version'];
    const session = id === undefined ? undefined : this.sessions.get(id);
    if (id === undefined) refuse(reply, 400, 'Mcp-Session-Id is required: initialize first');
    else if (session === undefined) refuse(reply, 404, 'unknown session: initialize again');
    else if (version !== undefined && !isLegacyRevision(version)) {
      refuse(reply, 400, 'unsupported MCP-Protocol-Version');
    } else await go(session);
  }

  private initialize(message: Message, reply: DemoReply): void {
    const { protocolVersion, clientInfo } = demoParams(message);
    const wanted = typeof protocolVersion === 'string' ? protocolVersion : undefined;
    const session: Session = {
      id: randomBytes(16).toString('hex'),
      revision: isLegacyRevision(wanted) ? wanted : LATEST_LEGACY,
      client: clientName(clientInfo),
      logLevel: 'info',
      running: new Map(),
    };
    const [oldest] = this.sessions.keys();
    if (oldest !== undefined && this.sessions.size >= MAX_SESSIONS) this.sessions.delete(oldest);
    this.sessions.set(session.id, session);
    const result = {
      protocolVersion: session.revision,
      capabilities: DEMO_CAPABILITIES,
      serverInfo: { name: 'legacy-demo', version: IMPLEMENTATION.version },
    };
    reply.json(200, printResult(message.id ?? 'null', JSON.stringify(result)), {
      'Mcp-Session-Id': session.id,
    });
  }

  /** The stream for messages that belong to no request; this server never has any. A new one replaces the old. */
  private listen(session: Session, reply: DemoReply): void {
    session.stream?.end();
    session.stream = reply;
    reply.stream();
  }

  private end(session: Session, reply: DemoReply): void {
    this.sessions.delete(session.id);
    session.stream?.end();
    for (const call of session.running.values()) call.abort();
    reply.empty(204);
  }

  private async post(message: Message, session: Session, reply: DemoReply): Promise<void> {
    if (message.kind === 'request') {
      const abort = new AbortController();
      const key = idKey(message.id ?? 'null');
      session.running.set(key, abort);
      try {
        await this.request(message, session, reply, abort.signal);
      } catch (error) {
        if (!abort.signal.aborted) throw error;
        // A cancelled request is not answered.
        reply.stream();
        reply.end();
      } finally {
        session.running.delete(key);
      }
      return;
    }
    if (message.method === 'notifications/cancelled') {
      const id = memberOf(message.params?.object, 'requestId');
      if (id !== undefined) session.running.get(idKey(valueText(message.text, id)))?.abort();
    }
    reply.empty(202);
  }

  private async request(
    message: Message,
    session: Session,
    reply: DemoReply,
    signal: AbortSignal,
  ): Promise<void> {
    const id = message.id ?? 'null';
    const method = message.method ?? '';
    try {
      let result: object | undefined;
      if (method === 'ping') result = {};
      else if (method === 'logging/setLevel') {
        const level = levelOf(message);
        if (level === undefined) throw new DemoRefusal('invalidParams', 'level must be a log level');
        session.logLevel = level;
        result = {};
      } else {
        const { revision, client, logLevel } = session;
        const call = demoCall(message, reply, { era: 'legacy', revision, client, logLevel, signal });
        result = await demoAnswer(method, demoParams(message), call);
      }
      if (result === undefined)
        reply.json(200, printError(id, METHOD_NOT_FOUND, `Method not found: ${method}`));
      else reply.json(200, printResult(id, JSON.stringify(result)));
    } catch (error) {
      if (!(error instanceof DemoRefusal)) throw error;
      const code = error.kind === 'resourceNotFound' ? RESOURCE_NOT_FOUND : INVALID_PARAMS;
      const data = error.uri === undefined ? undefined : JSON.stringify({ uri: error.uri });
      reply.json(200, printError(id, code, error.message, data));
    }
  }
}

function refuse(reply: DemoReply, status: number, text: string): void {
  reply.json(status, printError('null', INVALID_REQUEST, text));
}

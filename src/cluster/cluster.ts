import { randomUUID } from 'node:crypto';
import type { Principal } from '../auth/principal.js';
import { GATEWAY_CODE, GatewayError } from '../errors/gateway-error.js';
import type { EventSink, HttpReply, HttpRequest } from '../http/port.js';
import type { Logger } from '../telemetry/logger.js';
import { ForwardedReply, type Say } from './forwarded-reply.js';
import type { Frame, Link } from './frame.js';

/** How long the owner of a session may take to begin, in milliseconds. */
const TAKE_MS = 3000;

/** How often it is seen to that the instances on the other side of what is under way still live, in milliseconds. */
const WATCH_MS = 2000;

/** A request given to another instance, and the client that waits for its answer here. */
interface Away {
  readonly to: string;
  readonly reply: HttpReply;
  readonly timer: NodeJS.Timeout;
  /** The owner has begun to serve it. */
  taken: boolean;
  parts: string;
  sink: EventSink | undefined;
  finish(error?: GatewayError): void;
}

/** A request another instance gave to this one. */
interface Here {
  readonly from: string;
  readonly reply: ForwardedReply;
}

/**
 * Several instances as one gateway. What lives in memory, a session with its running calls or a parked call, lives on one
 * instance; a request for it that arrives elsewhere is handed there, and the answer is handed back. So any instance takes
 * any request: resumes a call that runs on another, cancels it, answers its questions, ends its session. Modern requests
 * without state never travel.
 */
export class Cluster {
  private readonly away = new Map<string, Away>();
  private readonly here = new Map<string, Here>();
  private readonly watcher: NodeJS.Timeout;

  constructor(
    /** Names this run of this process in session ids and handles. */
    readonly instance: string,
    private readonly link: Link,
    private readonly serve: (upstream: string, request: HttpRequest, reply: HttpReply) => Promise<void>,
    private readonly log: Logger,
  ) {
    link.onFrame((frame) => this.take(frame));
    link.onBreak(() => this.broken());
    this.watcher = setInterval(() => void this.watch(), WATCH_MS);
    this.watcher.unref();
  }

  /** Whether requests for what lives on that instance are to be handed to it. @throws GatewayError 503 the link is down */
  async isElsewhere(owner: string): Promise<boolean> {
    if (owner === this.instance) return false;
    try {
      return await this.link.isAlive(owner);
    } catch (error) {
      throw new GatewayError(GATEWAY_CODE.overloaded, 'the link between the instances is down; try again', {
        status: 503,
        headers: { 'Retry-After': '1' },
        cause: error,
      });
    }
  }

  /** Hands a request to its owner and its answer to the client. Resolves when the answer is complete. @throws GatewayError */
  forward(
    owner: string,
    upstream: string,
    request: HttpRequest,
    principal: Principal,
    reply: HttpReply,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const id = randomUUID();
      const away: Away = {
        to: owner,
        reply,
        taken: false,
        parts: '',
        sink: undefined,
        timer: setTimeout(() => {
          // It may only be slow, and must then not answer nobody for ever.
          this.link.send(owner, { kind: 'closed', id, from: this.instance });
          away.finish(unanswered());
        }, TAKE_MS),
        finish: (error) => {
          if (!this.away.delete(id)) return;
          clearTimeout(away.timer);
          if (error === undefined) resolve();
          else if (reply.started) {
            // A stream that began cannot be refused any more; the client comes back for the rest.
            away.sink?.destroy();
            resolve();
          } else reject(error);
        },
      };
      this.away.set(id, away);
      reply.onClose(() => {
        this.link.send(owner, { kind: 'closed', id, from: this.instance });
        away.finish();
      });
      const { method, remoteAddress, body } = request;
      this.link.send(owner, {
        kind: 'request',
        id,
        from: this.instance,
        upstream,
        method,
        headers: withoutCredential(request.headers),
        remoteAddress,
        principal: { key: principal.key, anonymous: principal.anonymous },
        body,
      });
    });
  }

  async close(): Promise<void> {
    clearInterval(this.watcher);
    this.broken();
    await this.link.close();
  }

  private take(frame: Frame): void {
    if (frame.kind === 'request') {
      void this.serveForwarded(frame);
      return;
    }
    if (frame.kind === 'closed') {
      this.here.get(frame.id)?.reply.lost();
      return;
    }
    if (frame.kind === 'written') {
      this.here.get(frame.id)?.reply.written(frame.size);
      return;
    }
    const away = this.away.get(frame.id);
    if (away !== undefined) this.relayAnswer(frame, away);
    // Nobody waits for this stream any more, or ever did here.
    else if (frame.kind === 'stream' || frame.kind === 'data')
      this.link.send(frame.from, { kind: 'closed', id: frame.id, from: this.instance });
  }

  private relayAnswer(frame: Frame, away: Away): void {
    const { reply } = away;
    switch (frame.kind) {
      case 'taken':
        clearTimeout(away.timer);
        away.taken = true;
        break;
      case 'part':
        away.parts += frame.text;
        break;
      case 'json':
        if (!reply.closed) reply.json(frame.status, away.parts + frame.body, frame.headers);
        away.finish();
        break;
      case 'empty':
        if (!reply.closed) reply.empty(frame.status, frame.headers);
        away.finish();
        break;
      case 'stream':
        if (!reply.closed) away.sink = reply.stream(frame.headers);
        break;
      case 'data': {
        const { sink } = away;
        const written = () =>
          this.link.send(away.to, {
            kind: 'written',
            id: frame.id,
            from: this.instance,
            size: frame.text.length,
          });
        if (sink?.send(frame.text) === false) sink.onDrain(written);
        else written();
        break;
      }
      case 'end':
        away.sink?.end();
        away.finish();
        break;
      case 'destroy':
        away.sink?.destroy();
        away.finish();
        break;
      default:
        break;
    }
  }

  private async serveForwarded(frame: Extract<Frame, { kind: 'request' }>): Promise<void> {
    const { id, from, upstream, method, headers, remoteAddress, principal, body } = frame;
    const say: Say = (said) => this.link.send(from, { ...said, id, from: this.instance });
    const reply = new ForwardedReply(say, () => this.here.delete(id));
    this.here.set(id, { from, reply });
    say({ kind: 'taken' });
    try {
      await this.serve(upstream, { method, headers, remoteAddress, body, principal }, reply);
    } catch (error) {
      this.log.error({ err: error }, 'a forwarded request failed unexpectedly');
      if (reply.started) say({ kind: 'destroy' });
      else reply.json(500, '{"jsonrpc":"2.0","error":{"code":-32603,"message":"internal error"}}');
    }
  }

  /** An instance that died says nothing: whoever waits for it must not wait for ever. */
  private async watch(): Promise<void> {
    const others = new Set([...this.away.values()].map(({ to }) => to));
    for (const { from } of this.here.values()) others.add(from);
    for (const other of others) {
      // While nobody can say whether it lives, it is believed to: when the link is down it breaks by itself.
      if (!(await this.link.isAlive(other).catch(() => true))) this.end((instance) => instance === other);
    }
  }

  /** Frames may be lost from here on: whoever waits for one must not wait for ever. */
  private broken(): void {
    this.end(() => true);
  }

  private end(concerns: (instance: string) => boolean): void {
    for (const away of [...this.away.values()])
      if (concerns(away.to)) away.finish(away.taken ? unknown() : unanswered());
    for (const [id, { from, reply }] of [...this.here]) {
      if (!concerns(from)) continue;
      this.here.delete(id);
      reply.lost();
    }
  }
}

function withoutCredential(headers: HttpRequest['headers']): HttpRequest['headers'] {
  const { authorization: _authorization, cookie: _cookie, ...others } = headers;
  return others;
}

function unanswered(): GatewayError {
  return new GatewayError(
    GATEWAY_CODE.overloaded,
    'the instance that holds this session does not answer; try again',
    {
      status: 503,
      headers: { 'Retry-After': '1' },
    },
  );
}

function unknown(): GatewayError {
  return new GatewayError(
    GATEWAY_CODE.outcomeUnknown,
    'the instance that holds this session went away before it answered; the request may or may not have run',
    { status: 502 },
  );
}

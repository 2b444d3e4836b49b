import { Agent, Client, type Dispatcher, buildConnector } from 'undici';
import { GATEWAY_CODE, GatewayError } from '../errors/gateway-error.js';

/** What an upstream's HTTP endpoint is reached with. Times in milliseconds. */
export interface UpstreamHttpOptions {
  readonly url: string;
  /** Static headers from the configuration. */
  readonly headers: Readonly<Record<string, string>>;
  readonly connectMs: number;
  readonly tls: { readonly rejectUnauthorized: boolean; readonly ca?: string | undefined };
}

/** The head of an upstream response. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Receives an upstream response. Exactly one of `onEnd` and `onError` is called, once, and nothing after it. */
export interface ResponseListener {
  onHead(head: ResponseHead): void;
  onData(chunk: Buffer): void;
  onEnd(): void;
  /** `sent`: whether any byte of the request may have reached the upstream. */
  onError(error: GatewayError, sent: boolean): void;
}

/** A request under way. */
export interface RunningRequest {
  /** Cuts the connection; the listener hears nothing more. */
  abort(): void;
  pause(): void;
  resume(): void;
}

/** A request to send. */
export interface UpstreamRequest {
  readonly method: 'POST' | 'GET' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Its response is a stream that may be open for hours. */
  readonly longLived?: boolean;
}

const MAX_REDIRECTS = 3;

/**
 * The HTTP client of one upstream, on undici's raw dispatch.
 *
 * The pool is unbounded on purpose: a bounded one filled by open streams leaves the next POST queued for ever.
 * What bounds the number of connections are the gateway's own caps, which answer instead of queueing. Timeouts
 * are the callers' too: only they know whether silence is a failure.
 *
 * Long-lived streams have a connection of their own outside the pool: it looks through all its connections for a free one,
 * so thousands of idle streams in it would slow down every call.
 */
export class UpstreamHttp {
  private readonly agent: Agent;
  private readonly endpoint: URL;
  private readonly running = new Set<Running>();
  private readonly streams = new Set<Client>();
  private readonly connection: Client.Options;

  constructor(private readonly options: UpstreamHttpOptions) {
    this.endpoint = new URL(options.url);
    this.connection = {
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      // One for all, because it remembers TLS sessions.
      connect: buildConnector({
        timeout: options.connectMs,
        rejectUnauthorized: options.tls.rejectUnauthorized,
        ...(options.tls.ca !== undefined && { ca: options.tls.ca }),
      }),
    };
    this.agent = new Agent({ connections: null, ...this.connection });
  }

  get url(): string {
    return this.options.url;
  }

  /** Sends a request; the listener hears of everything else. */
  request(request: UpstreamRequest, listener: ResponseListener): RunningRequest {
    const client = request.longLived === true ? this.openClient() : undefined;
    const running: Running = new Running(
      client ?? this.agent,
      this.options.headers,
      this.endpoint,
      request,
      listener,
      () => {
        this.running.delete(running);
        if (client !== undefined) this.closeClient(client);
      },
    );
    this.running.add(running);
    running.dispatch(this.endpoint, 0);
    return running;
  }

  /**
   * Fetches a small document from the upstream's origin, without credentials and without following redirects.
   * @param maxBytes larger documents count as absent; @param timeoutMs bound in milliseconds
   * @returns undefined when there was no usable answer
   */
  document(
    path: string,
    maxBytes: number,
    timeoutMs: number,
  ): Promise<{ status: number; body: string } | undefined> {
    return new Promise((resolve) => {
      const chunks: Buffer[] = [];
      let size = 0;
      let status = 0;
      const finish = (answer: { status: number; body: string } | undefined) => {
        clearTimeout(timer);
        resolve(answer);
      };
      const request: UpstreamRequest = { method: 'GET', headers: { accept: 'application/json' } };
      const running = new Running(
        this.agent,
        {},
        this.endpoint,
        request,
        {
          onHead: (head) => (status = head.status),
          onData: (chunk) => {
            size += chunk.length;
            if (size <= maxBytes) chunks.push(chunk);
          },
          onEnd: () =>
            finish(size > maxBytes ? undefined : { status, body: Buffer.concat(chunks).toString('utf8') }),
          onError: () => finish(undefined),
        },
        () => undefined,
      );
      const timer = setTimeout(() => {
        running.abort();
        finish(undefined);
      }, timeoutMs);
      // No hop is left: a redirect is not followed.
      running.dispatch(new URL(path, this.endpoint), MAX_REDIRECTS);
    });
  }

  /** Requests under way, open streams included. */
  get inFlight(): number {
    return this.running.size;
  }

  /** Cuts all connections. */
  async close(): Promise<void> {
    await Promise.all([this.agent, ...this.streams].map((dispatcher) => dispatcher.destroy()));
  }

  private openClient(): Client {
    const client = new Client(this.endpoint.origin, this.connection);
    this.streams.add(client);
    return client;
  }

  private closeClient(client: Client): void {
    this.streams.delete(client);
    // Whatever becomes of it, nobody uses it any more.
    client.destroy().catch(() => undefined);
  }
}

class Running implements RunningRequest, Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | undefined;
  private aborted = false;
  private ended = false;
  private sent = false;
  private redirect: URL | undefined;
  private hops = 0;

  constructor(
    private readonly dispatcher: Dispatcher,
    private readonly staticHeaders: Readonly<Record<string, string>>,
    private readonly endpoint: URL,
    private readonly request: UpstreamRequest,
    private readonly listener: ResponseListener,
    private readonly onOver: () => void,
  ) {}

  dispatch(url: URL, hops: number): void {
    this.hops = hops;
    this.sent = false;
    this.redirect = undefined;
    this.dispatcher.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method: this.request.method,
        headers: { ...this.staticHeaders, ...this.request.headers },
        body: this.request.body ?? null,
        idempotent: false,
      },
      this,
    );
  }

  abort(): void {
    if (this.aborted || this.ended) return;
    this.aborted = true;
    this.controller?.abort(new Error('aborted by the gateway'));
    this.onOver();
  }

  pause(): void {
    this.controller?.pause();
  }

  resume(): void {
    this.controller?.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    this.sent = true;
    if (this.aborted) controller.abort(new Error('aborted by the gateway'));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (this.aborted || status < 200) return;
    if (status === 307 || status === 308) {
      // Only these keep method and body, and only within the origin is the credential at home.
      const target = this.redirectTarget(headers['location']);
      if (target !== undefined && this.hops < MAX_REDIRECTS) {
        this.redirect = target;
        return;
      }
    }
    this.listener.onHead({ status, headers });
  }

  private redirectTarget(location: string | string[] | undefined): URL | undefined {
    if (typeof location !== 'string' || !URL.canParse(location, this.endpoint.href)) return undefined;
    const target = new URL(location, this.endpoint);
    return target.origin === this.endpoint.origin ? target : undefined;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.aborted && this.redirect === undefined) this.listener.onData(chunk);
  }

  onResponseEnd(): void {
    if (this.aborted) return;
    if (this.redirect !== undefined) {
      this.dispatch(this.redirect, this.hops + 1);
      return;
    }
    this.ended = true;
    this.onOver();
    this.listener.onEnd();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.aborted || this.ended) return;
    this.ended = true;
    this.onOver();
    this.listener.onError(connectionError(error, this.endpoint, this.sent), this.sent);
  }
}

const TLS_CODE = /^(?:ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|EPROTO$|HOSTNAME_MISMATCH)/;

/** Says in an operator's words why no response came. */
function connectionError(error: Error, endpoint: URL, sent: boolean): GatewayError {
  const code = (error as { code?: unknown }).code;
  const name = typeof code === 'string' ? code : error.name;
  const { origin } = endpoint;
  if (TLS_CODE.test(name)) {
    return new GatewayError(GATEWAY_CODE.upstreamTls, `TLS to the upstream ${origin} failed (${name})`, {
      status: 502,
      cause: error,
    });
  }
  if (!sent) {
    return new GatewayError(
      GATEWAY_CODE.upstreamUnreachable,
      `the upstream ${origin} cannot be reached (${name})`,
      { status: 502, cause: error },
    );
  }
  return new GatewayError(
    GATEWAY_CODE.outcomeUnknown,
    `the connection to the upstream ${origin} broke before it answered (${name}); the request may or may not have run`,
    { status: 502, cause: error },
  );
}

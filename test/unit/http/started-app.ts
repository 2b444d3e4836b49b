import { request as send, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import { onTestFinished } from 'vitest';
import { createHttpApp, type HttpApp } from '../../../src/http/app.js';
import type { HttpLimits, HttpOptions, HttpTimeouts } from '../../../src/http/options.js';
import type { HttpReply, HttpRequest } from '../../../src/http/port.js';
import { listen, type HttpServer } from '../../../src/http/server.js';

/** What `serve` was called with, and its answer to be. */
export interface Call {
  readonly upstream: string;
  readonly request: HttpRequest;
  readonly reply: HttpReply;
}

export interface StartedApp {
  readonly app: HttpApp;
  readonly server: HttpServer;
  readonly port: number;
  readonly calls: Call[];
  readonly logged: string[];
  /** Resolves with the next call that `serve` gets. */
  nextCall(): Promise<Call>;
}

export type Overrides = Partial<Omit<HttpOptions, 'limits' | 'timeouts' | 'defaultUpstream'>> & {
  /** Explicitly undefined: there is none. */
  readonly defaultUpstream?: string | undefined;
  readonly limits?: Partial<HttpLimits>;
  readonly timeouts?: Partial<HttpTimeouts>;
};

/** Options for a loopback listener with two upstreams; POST is answered with what was asked, GET with a stream. */
export function testOptions({ limits, timeouts, ...overrides }: Overrides = {}): HttpOptions {
  const { defaultUpstream = 'alpha', ...others } = overrides;
  const hasDefault = !('defaultUpstream' in overrides) || overrides.defaultUpstream !== undefined;
  return {
    listen: { host: '127.0.0.1' },
    allowedHosts: [],
    allowedOrigins: [],
    upstreamNames: ['alpha', 'beta'],
    ...(hasDefault ? { defaultUpstream } : {}),
    aliases: { '/legacy': 'beta' },
    log: { warn: () => undefined, error: () => undefined },
    serve: async (_upstream, request, reply) => {
      if (request.method === 'GET') reply.stream();
      else if (request.method === 'DELETE') reply.empty(204);
      else reply.json(200, JSON.stringify({ got: request.body }));
    },
    ...others,
    limits: {
      bodyBytes: 100_000,
      headerBytes: 8_192,
      headerCount: 40,
      concurrentRequests: 1_000,
      concurrentPerPrincipal: 1_000,
      streamBufferBytes: 65_536,
      retryAfterSeconds: 7,
      ...limits,
    },
    timeouts: { bodyMs: 5_000, keepAliveMs: 15_000, ...timeouts },
  };
}

/** Starts an app on a free port until the test is over. */
export async function startApp(overrides: Overrides = {}): Promise<StartedApp> {
  const calls: Call[] = [];
  const logged: string[] = [];
  const waiting: ((call: Call) => void)[] = [];
  const options = testOptions(overrides);
  const log = (details: object, message: string): void => {
    logged.push(`${message} ${'err' in details ? String(details.err) : ''}`.trim());
  };
  const app = createHttpApp({
    ...options,
    log: { warn: log, error: log },
    serve: async (upstream, request, reply) => {
      const call = { upstream, request, reply };
      calls.push(call);
      waiting.shift()?.(call);
      await options.serve(upstream, request, reply);
    },
  });
  const server = await listen(app, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => server.close());
  const nextCall = (): Promise<Call> => new Promise((resolve) => waiting.push(resolve));
  return { app, server, port: server.port, calls, logged, nextCall };
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body read as JSON. */
  readonly json: any;
}

/** One request through node's client, with the headers of an ordinary MCP client. */
export function ask(
  { port }: { port: number },
  method: string,
  path = '/mcp',
  { headers = {}, body }: { headers?: OutgoingHttpHeaders; body?: string | Buffer } = {},
): Promise<Answer> {
  const usual = method === 'POST' ? { 'content-type': 'application/json' } : {};
  const accept = { accept: 'application/json, text/event-stream' };
  return new Promise((resolve, reject) => {
    const outgoing = send(
      { port, method, path, host: '127.0.0.1', headers: { ...usual, ...accept, ...headers }, agent: false },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => (text += chunk));
        response.on('end', () => {
          const json = text.startsWith('{') ? JSON.parse(text) : undefined;
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json });
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body ?? (method === 'POST' ? '{}' : undefined));
  });
}

/** A `serve` that keeps every request waiting; the test answers through the calls. */
export const keepWaiting: HttpOptions['serve'] = (_upstream, _request, reply) =>
  new Promise((resolve) => {
    const timer = setInterval(() => {
      if (reply.started || reply.closed) finish();
    }, 2);
    const finish = (): void => {
      clearInterval(timer);
      resolve();
    };
    reply.onClose(finish);
  });

import Router from '@koa/router';
import type { IncomingMessage, ServerResponse } from 'node:http';
import Koa from 'koa';
import { GATEWAY_CODE } from '../errors/gateway-error.js';
import { Concurrency } from './concurrency.js';
import { corsHeaders, preflightHeaders } from './cors.js';
import { Endpoints, MCP_PATH } from './endpoints.js';
import { answerFailure } from './failure.js';
import { readHeaders, type RequestHeaders } from './headers.js';
import { KeepAlive } from './keep-alive.js';
import { McpEndpoint } from './mcp-endpoint.js';
import { answerMetadata, METADATA_PATH } from './metadata-endpoint.js';
import type { HttpOptions } from './options.js';
import { createHostCheck, createOriginCheck } from './origin-host.js';
import { refusal } from './refusal.js';
import { ResponseReply } from './reply.js';
import { RunningReplies } from './running-replies.js';

/** The gateway's HTTP face, to be given a server by `listen`. */
export interface HttpApp {
  /** Answers one request of a node server. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void;
  readonly options: HttpOptions;
  /** The replies in progress, for shutting down. */
  readonly running: RunningReplies;
  /** Streams open now. */
  readonly openStreams: number;
}

/** A reader that takes nothing is cut off after this long unless configured, in milliseconds. */
const STALL_MS = 60_000;

interface State {
  reply: ResponseReply;
  headers: RequestHeaders['fields'];
}

/** Builds the app: every answer is written straight to node's response, koa only finds who gives it. */
export function createHttpApp(options: HttpOptions): HttpApp {
  const keepAlive = new KeepAlive(options.timeouts.keepAliveMs);
  const settings = {
    keepAlive,
    bufferBytes: options.limits.streamBufferBytes,
    stallMs: options.timeouts.stallMs ?? STALL_MS,
  };
  const endpoints = new Endpoints(options);
  const running = new RunningReplies();
  const endpoint = new McpEndpoint(options, new Concurrency(options.limits));
  const checkHost = createHostCheck(options);
  const checkOrigin = createOriginCheck(options);

  const koa = new Koa<State>();
  // Koa reports sockets that broke while an answer was written, and prints them; the reply notices by itself.
  koa.on('error', () => undefined);

  /** Looks at the head of a request. @throws GatewayError whatever is wrong with it */
  const admit = (request: IncomingMessage): RequestHeaders['fields'] => {
    if (running.draining) throw shuttingDown(options);
    const { fields, hosts } = readHeaders(request.rawHeaders, options.limits);
    checkHost(hosts);
    checkOrigin(fields['origin']);
    return fields;
  };

  koa.use(async (ctx, next) => {
    ctx.respond = false;
    const reply = new ResponseReply(ctx.res, settings);
    ctx.state.reply = reply;
    running.add(reply, ctx.req);
    try {
      const fields = admit(ctx.req);
      ctx.state.headers = fields;
      if (fields['origin'] !== undefined) {
        reply.always(corsHeaders(fields['origin']));
        if (ctx.method === 'OPTIONS' && fields['access-control-request-method'] !== undefined) {
          reply.always(preflightHeaders(fields['access-control-request-headers']));
          reply.empty(204);
          return;
        }
      }
      await next();
    } catch (error) {
      answerFailure(reply, error, options.log);
    }
  });

  const router = new Router<State>();
  const answer = (upstream: string, ctx: Koa.ParameterizedContext<State>): Promise<void> =>
    endpoint.answer(upstream, ctx.state.headers, ctx.res, ctx.state.reply);
  router.all(MCP_PATH, (ctx) => answer(endpoints.standard, ctx));
  router.all(`${MCP_PATH}/:upstream`, (ctx) => answer(endpoints.named(ctx.params['upstream'] ?? ''), ctx));
  router.all([METADATA_PATH, `${METADATA_PATH}/*path`], (ctx) =>
    answerMetadata(ctx.path, ctx.method, endpoints, options, ctx.state.reply),
  );
  koa.use(router.routes());
  // Aliases are paths and no patterns, so the router cannot take them as they are.
  koa.use((ctx) => {
    const upstream = endpoints.at(ctx.path);
    if (upstream === undefined) throw endpoints.notFound();
    return answer(upstream, ctx);
  });

  /**
   * A request for an endpoint by its plain path, from no browser, is all the traffic there is to speak of. It meets the
   * same checks in the same order without a context, a router and their promises, which cost more than the checks, and
   * which an open stream would hold for as long as it lasts.
   */
  const answerPlain = async (
    upstream: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> => {
    const reply = new ResponseReply(response, settings);
    running.add(reply, request);
    try {
      await endpoint.answer(upstream, admit(request), response, reply);
    } catch (error) {
      answerFailure(reply, error, options.log);
    }
  };

  const callback = koa.callback();
  return {
    handler: (request, response) => {
      const { method } = request;
      const plain = (method === 'POST' || method === 'GET' || method === 'DELETE') && !fromPage(request);
      const upstream = plain ? endpoints.at(request.url ?? '') : undefined;
      if (upstream === undefined) void callback(request, response);
      else void answerPlain(upstream, request, response);
    },
    options,
    running,
    get openStreams() {
      return keepAlive.size;
    },
  };
}

/** Whether a page in a browser sent it. */
function fromPage({ rawHeaders }: IncomingMessage): boolean {
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 6 && name.toLowerCase() === 'origin') return true;
  }
  return false;
}

function shuttingDown({ limits }: HttpOptions): Error {
  const headers = { 'Retry-After': String(limits.retryAfterSeconds) };
  return refusal(503, 'The gateway is shutting down.', headers, GATEWAY_CODE.shuttingDown);
}

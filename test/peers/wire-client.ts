import { type RawResponse, sendRaw } from './raw-client.js';

/** The revisions the tests speak. */
export const MODERN = '2026-07-28';
export const LEGACY = '2025-11-25';
export const LEGACY_REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

/** The reserved `_meta` keys. */
export const KEY = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
} as const;

export const CLIENT_INFO = { name: 'wire-client', version: '1.0.0' };

/** Headers every conforming POST has. */
export const POST_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
} as const;

type Headers = Readonly<Record<string, string>>;
type Json = Record<string, unknown>;

/** A JSON-RPC request as text. `id` is put in as it is printed by JSON. */
export function requestText(id: string | number, method: string, params?: Json): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, ...(params && { params }) });
}

/** The `_meta` of a modern request. */
export function modernMeta(extra: Json = {}): Json {
  return {
    [KEY.protocolVersion]: MODERN,
    [KEY.clientInfo]: CLIENT_INFO,
    [KEY.clientCapabilities]: {},
    ...extra,
  };
}

/** The text of a modern request; `meta` is added to the reserved keys. */
export function modernText(id: string | number, method: string, params: Json = {}, meta: Json = {}): string {
  return requestText(id, method, { ...params, _meta: modernMeta(meta) });
}

/** The headers a modern request must have, computed from its body. */
export function modernHeaders(body: string): Record<string, string> {
  const { method, params } = JSON.parse(body);
  const name = { 'tools/call': params?.name, 'prompts/get': params?.name, 'resources/read': params?.uri }[
    method as string
  ];
  return {
    ...POST_HEADERS,
    'mcp-protocol-version': MODERN,
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': headerValue(name) }),
  };
}

/** Plain where HTTP can carry it, in base64 otherwise. */
function headerValue(value: string): string {
  return /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !value.startsWith('=?')
    ? value
    : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}

/** Posts the exact text of a modern request with the headers that belong to it. */
export function postModern(url: string, body: string, headers: Headers = {}): Promise<RawResponse> {
  return sendRaw(url, { headers: { ...modernHeaders(body), ...headers }, body });
}

/** Sends a modern request and waits for its response. */
export async function callModern(
  url: string,
  method: string,
  params: Json = {},
  options: { id?: string | number; meta?: Json; headers?: Headers } = {},
): Promise<{ status: number; message: any }> {
  const { id = 1, meta = {}, headers = {} } = options;
  const response = await postModern(url, modernText(id, method, params, meta), headers);
  return { status: response.status, message: await response.rpc() };
}

export interface WireSessionOptions {
  readonly revision?: string;
  readonly capabilities?: Json;
  readonly clientInfo?: Json;
  /** On every request of the session, such as `authorization`. */
  readonly headers?: Headers;
}

/** A legacy session spoken to in bytes. */
export class WireSession {
  constructor(
    readonly url: string,
    readonly id: string,
    /** The negotiated revision. */
    readonly revision: string,
    /** The response to `initialize`, parsed. */
    readonly initialize: any,
    private readonly common: Headers,
  ) {}

  get headers(): Record<string, string> {
    return { 'mcp-session-id': this.id, 'mcp-protocol-version': this.revision, ...this.common };
  }

  /** Posts the exact text. */
  post(body: string, headers: Headers = {}): Promise<RawResponse> {
    return sendRaw(this.url, { headers: { ...POST_HEADERS, ...this.headers, ...headers }, body });
  }

  /** Posts a request; resolves with the response head. */
  request(id: string | number, method: string, params?: Json, headers: Headers = {}): Promise<RawResponse> {
    return this.post(requestText(id, method, params), headers);
  }

  /** Posts a request and waits for its response. */
  async call(
    method: string,
    params?: Json,
    id: string | number = 1,
  ): Promise<{ status: number; message: any }> {
    const response = await this.request(id, method, params);
    return { status: response.status, message: await response.rpc() };
  }

  notify(method: string, params?: Json, headers: Headers = {}): Promise<RawResponse> {
    return this.post(JSON.stringify({ jsonrpc: '2.0', method, ...(params && { params }) }), headers);
  }

  /** Opens a stream; with an event id it resumes one. */
  get(lastEventId?: string, headers: Headers = {}): Promise<RawResponse> {
    const resume = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    return sendRaw(this.url, {
      method: 'GET',
      headers: { accept: 'text/event-stream', ...this.headers, ...resume, ...headers },
    });
  }

  delete(headers: Headers = {}): Promise<RawResponse> {
    return sendRaw(this.url, { method: 'DELETE', headers: { ...this.headers, ...headers } });
  }
}

/** The text of an `initialize` request. */
export function initializeText(options: WireSessionOptions & { id?: string | number } = {}): string {
  const { revision = LEGACY, capabilities = {}, clientInfo = CLIENT_INFO, id = 'init' } = options;
  return requestText(id, 'initialize', { protocolVersion: revision, capabilities, clientInfo });
}

/** `initialize` and `notifications/initialized`. */
export async function openWireSession(url: string, options: WireSessionOptions = {}): Promise<WireSession> {
  const { headers = {} } = options;
  const response = await sendRaw(url, {
    headers: { ...POST_HEADERS, ...headers },
    body: initializeText(options),
  });
  const initialize = await response.rpc();
  const id = response.headers['mcp-session-id'];
  if (response.status !== 200 || typeof id !== 'string') {
    throw new Error(`initialize was answered ${response.status}: ${response.received}`);
  }
  const session = new WireSession(url, id, initialize.result.protocolVersion, initialize, headers);
  await (await session.notify('notifications/initialized')).text();
  return session;
}

/** A client of either era, spoken to in bytes. */
export interface WireClient {
  readonly era: Era;
  /** Sends a request; resolves with the response head. */
  request(
    id: string | number,
    method: string,
    params?: Json,
    options?: { readonly meta?: Json; readonly headers?: Headers },
  ): Promise<RawResponse>;
  /** Sends a request and waits for its response. */
  call(
    method: string,
    params?: Json,
    options?: { readonly id?: string | number; readonly meta?: Json; readonly headers?: Headers },
  ): Promise<WireAnswer>;
  notify(method: string, params?: Json): Promise<RawResponse>;
}

export type Era = 'legacy' | 'modern';

export interface WireAnswer {
  readonly status: number;
  readonly headers: RawResponse['headers'];
  readonly message: any;
}

/** A client of that era; for legacy a session is opened first. */
export async function openWireClient(
  era: Era,
  url: string,
  options: WireSessionOptions = {},
): Promise<WireClient> {
  const session = era === 'legacy' ? await openWireSession(url, options) : undefined;
  const request: WireClient['request'] = (id, method, params, { meta, headers } = {}) => {
    if (session !== undefined) {
      return session.request(id, method, meta === undefined ? params : { ...params, _meta: meta }, headers);
    }
    const own: Json = {
      ...(options.clientInfo && { [KEY.clientInfo]: options.clientInfo }),
      ...(options.capabilities && { [KEY.clientCapabilities]: options.capabilities }),
    };
    const body = modernText(id, method, params, { ...own, ...meta });
    return postModern(url, body, { ...options.headers, ...headers });
  };
  return {
    era,
    request,
    call: async (method, params, { id = 1, ...rest } = {}) => {
      const response = await request(id, method, params, rest);
      return { status: response.status, headers: response.headers, message: await response.rpc() };
    },
    notify: (method, params) => {
      if (session !== undefined) return session.notify(method, params);
      const body = JSON.stringify({
        jsonrpc: '2.0',
        method,
        params: { ...params, _meta: modernMeta() },
      });
      return postModern(url, body, options.headers);
    },
  };
}

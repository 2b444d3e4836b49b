/**
 * JSON-RPC 2.0 messages as scanned text.
 * @see https://www.jsonrpc.org/specification and the "Messages" section of /specification/2026-07-28/basic
 */
import {
  type Member,
  type ObjectScan,
  JsonScanError,
  kindOf,
  memberOf,
  scanObjectText,
  stringValue,
  valueText,
} from './json-scan.js';

/** The JSON text of a request id or progress token, kept verbatim: `1`, `"1"` and `1.0` stay what they are. */
export type RawId = string;

export type MessageKind = 'request' | 'notification' | 'result' | 'error';

/** One JSON-RPC message: its text and where its members stand. */
export interface Message {
  readonly kind: MessageKind;
  readonly text: string;
  readonly root: ObjectScan;
  /** Present on requests and responses; `null` only on an error response whose request could not be read. */
  readonly id?: RawId;
  /** Present on requests and notifications. */
  readonly method?: string;
  readonly params?: Member;
  readonly result?: Member;
  readonly error?: Member;
}

/** Objects every reader of a message needs: the envelope, and one `_meta`. */
const ENVELOPE = { params: { _meta: {} }, result: { _meta: {} }, error: {} } as const;

/** Why a text is no JSON-RPC message. `code` is the JSON-RPC code to answer with. */
export class InvalidMessageError extends Error {
  constructor(
    readonly code: -32700 | -32600,
    message: string,
    /** The id, when it could be read: an answer carries it. */
    readonly id?: RawId,
    /** It has no `method`, so it was meant as the response to a request. */
    readonly isResponse: boolean = false,
  ) {
    super(message);
    this.name = 'InvalidMessageError';
  }
}

export interface ParseOptions {
  /** Nesting levels allowed. */
  readonly maxDepth: number;
  /** Accept a message without `jsonrpc` and an error with a `null` id, as real servers send them. */
  readonly lenient?: boolean;
}

/**
 * Reads one JSON-RPC message.
 * @throws InvalidMessageError -32700 when the text is not JSON, -32600 when it is not a JSON-RPC 2.0 message
 */
export function parseMessage(text: string, options: ParseOptions): Message {
  let root: ObjectScan;
  try {
    root = scanObjectText(text, ENVELOPE, options.maxDepth);
  } catch (error) {
    if (!(error instanceof JsonScanError)) throw error;
    // JSON that is refused was read all the same: that is an invalid request, not a parse error.
    throw error.kind === 'refused'
      ? new InvalidMessageError(-32600, `not a JSON-RPC message: ${error.message}`)
      : new InvalidMessageError(-32700, `not valid JSON: ${error.message}`);
  }
  const lenient = options.lenient ?? false;
  if (lenient && memberOf(root, 'jsonrpc') === undefined)
    return parseMessage(withVersion(text, root), options);
  return classify(text, root, lenient);
}

/** The text with the member that real servers forget and strict clients insist on. */
function withVersion(text: string, root: ObjectScan): string {
  const comma = root.members.length > 0 ? ',' : '';
  return `{"jsonrpc":"2.0"${comma}${text.slice(root.start + 1)}`;
}

function classify(text: string, root: ObjectScan, lenient: boolean): Message {
  const idMember = memberOf(root, 'id');
  const id = readId(text, idMember);
  const methodMember = memberOf(root, 'method');
  const invalid = (problem: string): never => {
    throw new InvalidMessageError(-32600, problem, id, methodMember === undefined);
  };
  if (stringValue(text, memberOf(root, 'jsonrpc')) !== '2.0') invalid('"jsonrpc" must be "2.0"');
  if (methodMember !== undefined) {
    const method = stringValue(text, methodMember);
    if (method === undefined) return invalid('"method" must be a string');
    if (memberOf(root, 'result') ?? memberOf(root, 'error')) {
      return invalid('a message has either "method" or "result"/"error", not both');
    }
    const params = memberOf(root, 'params');
    if (params !== undefined && params.object === undefined) return invalid('"params" must be an object');
    const base = { text, root, method, ...(params && { params }) };
    if (idMember === undefined) return { kind: 'notification', ...base };
    if (id === undefined) return invalid('"id" must be a string or a number');
    return { kind: 'request', ...base, id };
  }
  const result = memberOf(root, 'result');
  const error = memberOf(root, 'error');
  if (result !== undefined && error === undefined) {
    if (id === undefined) return invalid('a result needs the "id" of its request');
    if (result.object === undefined) return invalid('"result" must be an object');
    return { kind: 'result', text, root, id, result };
  }
  if (error !== undefined && result === undefined) {
    if (error.object === undefined) return invalid('"error" must be an object');
    const nullId = idMember === undefined || kindOf(text, idMember) === 'null';
    if (id === undefined && !(nullId && lenient)) return invalid('an error needs the "id" of its request');
    return { kind: 'error', text, root, ...(id !== undefined && { id }), error };
  }
  return invalid('a message needs "method", "result" or "error"');
}

function readId(text: string, member: Member | undefined): RawId | undefined {
  if (member === undefined) return undefined;
  const kind = kindOf(text, member);
  return kind === 'string' || kind === 'number' ? valueText(text, member) : undefined;
}

/** The `_meta` object of a message's params or result, if it has one. */
export function metaOf(message: Message): ObjectScan | undefined {
  return memberOf((message.params ?? message.result)?.object, '_meta')?.object;
}

/** The decoded string at `params.<key>`, if it is one. */
export function paramString(message: Message, key: string): string | undefined {
  return stringValue(message.text, memberOf(message.params?.object, key));
}

/**
 * A key under which equal ids meet: a string and a number never do, `1` and `1.0` do.
 * Digits beyond the safe integers are compared as text, because rounding would merge different ids.
 */
export function idKey(raw: RawId): string {
  if (raw.startsWith('"')) return `s${JSON.parse(raw) as string}`;
  const value = Number(raw);
  return Number.isSafeInteger(value) ? `n${value}` : `n${raw}`;
}

import { isAscii, isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../errors/gateway-error.js';
import { PARSE_ERROR } from '../jsonrpc/error-code.js';
import type { HttpRequest } from './port.js';
import { refusal } from './refusal.js';

/** Bounds on one request body. */
export interface BodyBounds {
  readonly bodyBytes: number;
  readonly bodyMs: number;
}

// The rest of a body nobody wants would be taken for the next request, so the connection must not be used again.
const CLOSE = { Connection: 'close' };

/**
 * Checks what the headers say of the body.
 * @throws GatewayError 501 for a transfer encoding other than chunked, 415 unless it is plain JSON in UTF-8, 413 when it is announced as too large
 */
export function checkBodyHeaders(headers: HttpRequest['headers'], bodyBytes: number): void {
  const length = headers['content-length'];
  if (length !== undefined && Number(length) > bodyBytes) throw tooLarge(bodyBytes);
  const transfer = headers['transfer-encoding'];
  // Node undoes the chunks and leaves the rest: the body would be taken for what it is not.
  if (transfer !== undefined && transfer.trim().toLowerCase() !== 'chunked') {
    throw refusal(501, 'Of transfer encodings only chunked is understood.', CLOSE);
  }
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') {
    throw refusal(415, 'The body is compressed; send it without Content-Encoding.', {
      'Accept-Encoding': 'identity',
    });
  }
  if (!isJsonType(headers['content-type'])) {
    throw refusal(415, 'The Content-Type header must be application/json, in UTF-8.');
  }
}

/**
 * Receives a body as text: valid UTF-8, without byte order mark. Resolves to undefined when the client went away
 * before the end.
 * @throws GatewayError 413 beyond `bodyBytes`, 408 beyond `bodyMs`, 400 with -32700 for invalid UTF-8
 */
export async function readBody(response: ServerResponse, bounds: BodyBounds): Promise<string | undefined> {
  const request = response.req;
  // Only now: a client that waits for the interim answer should not have sent a body that is refused by its headers.
  if (request.headers.expect?.toLowerCase() === '100-continue') response.writeContinue();
  const bytes = await receive(request, bounds);
  if (bytes === undefined) return undefined;
  if (isAscii(bytes)) return bytes.toString('latin1');
  if (!isUtf8(bytes)) {
    throw new GatewayError(PARSE_ERROR, 'Parse error: the body is not valid UTF-8.', { status: 400 });
  }
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return bytes.toString('utf8', hasMark ? 3 : 0);
}

function receive(request: IncomingMessage, bounds: BodyBounds): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const settle = (): void => {
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
    };
    const fail = (error: GatewayError): void => {
      settle();
      chunks.length = 0;
      reject(error);
    };
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      if (length > bounds.bodyBytes) fail(tooLarge(bounds.bodyBytes));
      else chunks.push(chunk);
    };
    const onEnd = (): void => {
      settle();
      const [only] = chunks;
      resolve(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, length));
    };
    const onClose = (): void => {
      settle();
      resolve(undefined);
    };
    const timer = setTimeout(() => {
      fail(refusal(408, `The body did not arrive within ${bounds.bodyMs} ms (bodyMs).`, CLOSE));
    }, bounds.bodyMs);
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}

function tooLarge(bodyBytes: number): GatewayError {
  return refusal(413, `The body is larger than ${bodyBytes} bytes, the limit (bodyBytes).`, CLOSE);
}

function isJsonType(contentType: string | undefined): boolean {
  if (contentType === 'application/json') return true;
  const [type, ...parameters] = (contentType ?? '').toLowerCase().split(';');
  if (type?.trim() !== 'application/json') return false;
  return parameters.every((parameter) => {
    const [name, value = ''] = parameter.split('=');
    return name?.trim() !== 'charset' || /^"?utf-?8"?$/.test(value.trim());
  });
}

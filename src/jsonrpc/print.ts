import type { RawId } from './message.js';

/** The text of an error response. Without `id` the member is left out, as modern MCP wants it. */
export function printError(id: RawId | undefined, code: number, message: string, data?: string): string {
  const idPart = id === undefined ? '' : `"id":${id},`;
  const dataPart = data === undefined ? '' : `,"data":${data}`;
  return `{"jsonrpc":"2.0",${idPart}"error":{"code":${code},"message":${JSON.stringify(message)}${dataPart}}}`;
}

/** The text of a result response; `result` is JSON text. */
export function printResult(id: RawId, result: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
}

/** The text of a request; `params` is JSON text. */
export function printRequest(id: RawId, method: string, params?: string): string {
  const paramsPart = params === undefined ? '' : `,"params":${params}`;
  return `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}${paramsPart}}`;
}

/** The text of a notification; `params` is JSON text. */
export function printNotification(method: string, params?: string): string {
  const paramsPart = params === undefined ? '' : `,"params":${params}`;
  return `{"jsonrpc":"2.0","method":${JSON.stringify(method)}${paramsPart}}`;
}

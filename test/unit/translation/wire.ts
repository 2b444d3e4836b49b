import { Draft } from '../../../src/jsonrpc/draft.js';
import { type Message, parseMessage } from '../../../src/jsonrpc/message.js';

export function message(text: string): Message {
  return parseMessage(text, { maxDepth: 200 });
}

/** A result response around the given result text, which stays exactly as it is written. */
export function resultMessage(result: string): Message {
  return message(`{"jsonrpc":"2.0","id":0,"result":${result}}`);
}

export function requestMessage(method: string, params?: string): Message {
  return message(
    `{"jsonrpc":"2.0","id":0,"method":"${method}"${params === undefined ? '' : `,"params":${params}`}}`,
  );
}

export function notificationMessage(method: string, params: string): Message {
  return message(`{"jsonrpc":"2.0","method":"${method}","params":${params}}`);
}

/** The message text after the edits. */
export function edited(original: Message, edit: (message: Message, draft: Draft) => unknown): string {
  const draft = new Draft(original.text);
  edit(original, draft);
  return draft.print();
}

/** The result's text after the edits. */
export function editedResult(result: string, edit: (message: Message, draft: Draft) => unknown): string {
  const text = edited(resultMessage(result), edit);
  return text.slice('{"jsonrpc":"2.0","id":0,"result":'.length, -1);
}

/** The params' text after the edits; the request had params. */
export function editedParams(params: string, edit: (message: Message, draft: Draft) => unknown): string {
  const text = edited(requestMessage('m', params), edit);
  return text.slice('{"jsonrpc":"2.0","id":0,"method":"m","params":'.length, -1);
}

/** C12: values that a parser with IEEE numbers and plain objects would change. */
export const FRAGILE =
  '{"id":9007199254740993,"n":1e400,"d":1.10,"z":-0.0,"__proto__":{"k":1},"futureKey":true}';

import type { ServerResponse } from 'node:http';
import type { SeenRequest } from '../peers/peer-log.js';
import type { RawResponse } from '../peers/raw-client.js';
import { type Script, answer, modernScript, resultText } from '../peers/scripted-server.js';

/** What a scripted modern server answers to the n-th call: text of a result, byte for byte, or a script of its own. */
export type Round = string | ((request: SeenRequest, res: ServerResponse) => void | Promise<void>);

/** A modern server that answers one `tools/call` after the other with the rounds given; the last one repeats. */
export function roundsScript(rounds: readonly Round[]): Script {
  let calls = 0;
  return modernScript(
    (request, res) => {
      const round = rounds[Math.min(calls++, rounds.length - 1)] ?? '{}';
      if (typeof round !== 'string') return round(request, res);
      answer(res, 200, resultText(request, round));
    },
    { tools: [{ name: 'ask', inputSchema: { type: 'object' } }] },
  );
}

/** The text of an InputRequiredResult. `state` is JSON text. */
export function inputRequiredText(questions: Record<string, object> | string, state?: string): string {
  const requests = typeof questions === 'string' ? questions : JSON.stringify(questions);
  return `{"resultType":"input_required","inputRequests":${requests}${state === undefined ? '' : `,"requestState":${state}`}}`;
}

export const DONE = '{"resultType":"complete","content":[{"type":"text","text":"done"}]}';

/** A form elicitation as a request object. */
export function form(message: string): object {
  return {
    method: 'elicitation/create',
    params: { message, requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } },
  };
}

/** A URL elicitation as a modern request object. */
export function url(at: string): object {
  return { method: 'elicitation/create', params: { mode: 'url', message: 'Open it', url: at } };
}

export const SAMPLING = {
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }], maxTokens: 5 },
};

/** The next request of the server on a stream. */
export async function nextQuestion(response: RawResponse): Promise<any> {
  for (;;) {
    const message = await response.nextMessage();
    if (message.method !== undefined && message.id !== undefined) return message;
    if (message.method === undefined) throw new Error(`answered unasked: ${JSON.stringify(message)}`);
  }
}

/** The text of a JSON-RPC response a client posts. */
export function responseTo(id: unknown, result: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id, result });
}

export const ACCEPT = { action: 'accept', content: { name: 'Ada' } };

/** A promise with its ends outside, to hold one side until the other has come so far. */
export interface Gate<T = void> {
  readonly opened: Promise<T>;
  open(value: T): void;
}

export function gate<T = void>(): Gate<T> {
  let open!: (value: T) => void;
  const opened = new Promise<T>((resolve) => (open = resolve));
  return { opened, open };
}

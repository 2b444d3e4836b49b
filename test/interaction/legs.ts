import type { RawResponse } from '../peers/raw-client.js';
import { KEY, modernText, postModern } from '../peers/wire-client.js';

export const ALL_CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };

export interface LegOptions {
  readonly name?: string;
  readonly arguments?: object;
  readonly id?: string | number;
  readonly token?: string | number;
  readonly logLevel?: string;
  readonly capabilities?: object;
  readonly headers?: Record<string, string>;
  /** What a retry brings. */
  readonly requestState?: unknown;
  readonly inputResponses?: unknown;
}

let lastId = 0;

/** Sends one request of a modern client for a tool; resolves with the response head. */
export function postLeg(url: string, options: LegOptions = {}): Promise<RawResponse> {
  const { name = 'ask', id = ++lastId, token, logLevel, capabilities = ALL_CAPABILITIES, headers } = options;
  const params = {
    name,
    arguments: options.arguments ?? {},
    ...('requestState' in options && { requestState: options.requestState }),
    ...('inputResponses' in options && { inputResponses: options.inputResponses }),
  };
  const meta = {
    [KEY.clientCapabilities]: capabilities,
    ...(token !== undefined && { progressToken: token }),
    ...(logLevel !== undefined && { [KEY.logLevel]: logLevel }),
  };
  return postModern(url, modernText(id, 'tools/call', params, meta), headers);
}

/** A leg and its response. */
export async function runLeg(
  url: string,
  options: LegOptions = {},
): Promise<{ status: number; message: any }> {
  const response = await postLeg(url, options);
  return { status: response.status, message: await response.rpc() };
}

/** What an InputRequiredResult asks: its state, and its questions in order. */
export function asked(message: any): { state: string; keys: string[]; questions: any[] } {
  if (message.result?.resultType !== 'input_required') {
    throw new Error(`not asked: ${JSON.stringify(message)}`);
  }
  const { inputRequests, requestState } = message.result;
  return { state: requestState, keys: Object.keys(inputRequests), questions: Object.values(inputRequests) };
}

/** The same answer for every key. */
export function answers(keys: readonly string[], answer: unknown): Record<string, unknown> {
  return Object.fromEntries(keys.map((key) => [key, answer]));
}

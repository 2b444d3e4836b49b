/** A server's request to the client: elicitation, sampling or roots. */
export interface Question {
  /** Distinguishes the questions of one round; the upstream's own key where it has one. */
  readonly key: string;
  readonly method: string;
  /** JSON text of the request's `params`. */
  readonly params?: string;
}

/** The client's answer: JSON text of a result, or of a JSON-RPC error object. */
export type Answer =
  | { readonly kind: 'result'; readonly key: string; readonly result: string }
  | { readonly kind: 'error'; readonly key: string; readonly error: string };

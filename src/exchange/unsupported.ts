import { METHOD_NOT_FOUND } from '../jsonrpc/error-code.js';
import type { FailedOutcome } from './outcome.js';

/** The method does not exist for this client: its era has it, but nothing across the eras serves it. */
export function methodNotFound(method: string): FailedOutcome {
  return { kind: 'failed', origin: 'upstream', code: METHOD_NOT_FOUND, text: `Method not found: ${method}` };
}

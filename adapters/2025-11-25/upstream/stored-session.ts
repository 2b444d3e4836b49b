import type { UpstreamContext } from '../../adapter.js';
import { isLegacyRevision } from '../revisions.js';
import type { Introduction } from '../../../src/exchange/exchange.js';
import { parseMessage } from '../../../src/jsonrpc/message.js';
import { UpstreamSession } from './session.js';

/** What is kept of an upstream session with its client's: all that is needed to go on with it, and no credential. */
interface UpstreamState {
  /** The `Mcp-Session-Id` the upstream gave out. */
  readonly id?: string;
  readonly revision: string;
  /** Text of the response to `initialize`. */
  readonly initialize: string;
}

/** The text by which another process goes on with this session. */
export function printUpstreamState({ id, revision, initialize }: UpstreamSession): string {
  const state: UpstreamState = { ...(id !== undefined && { id }), revision, initialize: initialize.text };
  return JSON.stringify(state);
}

/** Goes on with the session the client's one remembers. Undefined when there is none, or not in these words. */
export function restoreSession(
  context: UpstreamContext,
  key: string,
  { caller, client }: Introduction,
): UpstreamSession | undefined {
  const text = caller.conversation?.upstreamState;
  if (text === undefined) return undefined;
  try {
    const { id, revision, initialize } = JSON.parse(text) as UpstreamState;
    if (!isLegacyRevision(revision)) return undefined;
    const message = parseMessage(initialize, { maxDepth: context.config.limits.jsonDepth, lenient: true });
    return new UpstreamSession(context, key, id, revision, message, caller, client.capabilities);
  } catch (error) {
    context.log.warn(
      { upstream: context.name, problem: error instanceof Error ? error.message : 'unknown' },
      'what is stored of an upstream session cannot be read; a new one is opened',
    );
    return undefined;
  }
}

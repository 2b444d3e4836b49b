import { createHash } from 'node:crypto';
import type { ClientDescription } from '../exchange/exchange.js';

/**
 * What a store keeps of a legacy client's session. Never its id in clear, which is a secret of the client, and never a
 * credential: an instance that needs one waits for the client's next request.
 */
export interface SessionRecord {
  /** The hash of the session id. */
  readonly key: string;
  readonly principal: { readonly key: string; readonly anonymous: boolean };
  readonly upstreamName: string;
  readonly client: ClientDescription;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Opaque text by which the upstream half finds the upstream's side of the session again. */
  readonly upstreamState?: string;
  /** What the client was promised to be told of. */
  readonly advertised?: { readonly lists: readonly string[]; readonly subscribe: boolean };
  /** Resources the client subscribed to. */
  readonly watched?: readonly string[];
}

/** The key under which a session is stored: whoever reads the store learns no session id from it. */
export function sessionKey(id: string): string {
  return createHash('sha256').update(id).digest('base64url');
}

/** The text a store keeps of a session. */
export function printSession(record: SessionRecord): string {
  return JSON.stringify(record);
}

/** Reads such a text back. Undefined when it is none: whoever wrote it, it is no session of ours. */
export function readSession(text: string): SessionRecord | undefined {
  try {
    const record = JSON.parse(text) as Partial<SessionRecord> | null;
    const valid =
      typeof record?.key === 'string' &&
      typeof record.principal?.key === 'string' &&
      typeof record.principal.anonymous === 'boolean' &&
      typeof record.upstreamName === 'string' &&
      typeof record.client?.revision === 'string' &&
      typeof record.client.capabilities === 'string' &&
      typeof record.createdAt === 'number';
    return valid ? (record as SessionRecord) : undefined;
  } catch {
    return undefined;
  }
}

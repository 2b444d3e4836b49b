import { newEpoch } from '../memory-store.js';
import { isCount } from '../stored-stream.js';
import { StoreError } from '../store.js';
import type { RedisClient } from './connection.js';

/** What is shared by all instances lives this much longer than any session, in milliseconds. */
export const SHARED_TTL_MS = 7 * 86_400_000;
/** How keys and fields are laid out; another number means that another version wrote them. */
const LAYOUT = '1';
const EPOCH = /^[\x21-\x2d\x2f-\x7e]{1,64}$/;

/** What all instances on one prefix share. */
export interface SharedState {
  readonly epoch: string;
  readonly run: number;
}

/**
 * Joins the instances on a prefix, or begins it.
 * @throws StoreError what is there is not what this version wrote
 */
export async function joinShared(client: RedisClient, prefix: string): Promise<SharedState> {
  const expiration = { type: 'PX', value: SHARED_TTL_MS } as const;
  const shared = async (name: string, first: string) => {
    await client.set(`${prefix}:${name}`, first, { condition: 'NX', expiration });
    return (await client.get(`${prefix}:${name}`)) ?? first;
  };
  try {
    const layout = await shared('layout', LAYOUT);
    const epoch = await shared('epoch', newEpoch());
    const run = await client.incr(`${prefix}:runs`);
    if (layout === LAYOUT && EPOCH.test(epoch) && isCount(run)) return { epoch, run };
  } catch (cause) {
    if (!isOfAnotherType(cause) && !/not an integer/.test(String(cause))) throw cause;
  }
  throw new StoreError(
    `the keys ${prefix}:* in Redis were written by another program or version: choose another store.prefix`,
  );
}

/** Whether a command was refused because the key holds something else than it should. */
export function isOfAnotherType(error: unknown): boolean {
  return error instanceof Error && error.message.includes('WRONGTYPE');
}

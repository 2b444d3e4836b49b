import type { Logger } from '../../telemetry/logger.js';
import { optionalPackage } from '../optional-package.js';
import { StoreError } from '../store.js';

/** How long the first connection may take, in milliseconds. */
const CONNECT_MS = 5000;

/**
 * Connects; afterwards a lost connection is made again by itself, for as long as it takes.
 * @throws StoreError the package is missing, or the server cannot be reached
 */
export async function connect(url: string, log: Logger) {
  const redis = await optionalPackage('redis', 'redis', () => import('redis'));
  const client = redis.createClient({
    url,
    // What waits is kept in order by the journal; a second queue would send it twice.
    disableOfflineQueue: true,
    socket: { reconnectStrategy: (tries) => Math.min(50 * 2 ** tries, 1000) },
  });
  let connected = false;
  client.on('error', (error: Error) => {
    if (connected) log.warn({ problem: error.message }, 'the connection to Redis is lost');
  });
  try {
    await within(CONNECT_MS, client.connect());
  } catch (cause) {
    client.destroy();
    const { host } = new URL(url);
    throw new StoreError(`the Redis server at ${host} cannot be reached: start it, or correct store.url`, {
      cause,
    });
  }
  connected = true;
  return client;
}

export type RedisClient = Awaited<ReturnType<typeof connect>>;

/** Rejects when the answer takes longer than `ms` milliseconds. */
export async function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('Redis does not answer')), ms);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

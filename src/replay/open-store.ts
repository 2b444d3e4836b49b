import type { GatewayConfig } from '../config/config.js';
import type { Logger } from '../telemetry/logger.js';
import { MemoryStore } from './memory-store.js';
import type { Store } from './store.js';

/** How much longer than a session may be idle its keys live in Redis, in milliseconds. */
const GRACE_MS = 60_000;

/**
 * Opens the store the configuration names. What only one kind needs is loaded for it alone.
 * @throws StoreError it cannot be opened; the message tells why and what to do
 */
export async function openStore(
  { store: config, sessions }: Pick<GatewayConfig, 'store' | 'sessions'>,
  instance: string,
  log: Logger,
): Promise<Store> {
  if (config.kind === 'memory') return new MemoryStore();
  if (config.kind === 'redis') {
    const { RedisStore } = await import('./redis/redis-store.js');
    const { url, prefix } = config;
    return RedisStore.open({ url, prefix, instance, sessionTtlMs: sessions.idleMs + GRACE_MS, log });
  }
  const { SqliteStore } = await import('./sqlite/sqlite-store.js');
  return SqliteStore.open(config.path, log);
}

import type { GatewayConfig } from '../config/config.js';
import type { Logger } from '../telemetry/logger.js';
import { MemoryStore } from './memory-store.js';
import type { Store } from './store.js';

/**
 * Opens the store the configuration names. What only one kind needs is loaded for it alone.
 * @throws StoreError it cannot be opened; the message tells why and what to do
 */
export async function openStore(config: GatewayConfig['store'], log: Logger): Promise<Store> {
  if (config.kind === 'memory') return new MemoryStore();
  const { SqliteStore } = await import('./sqlite/sqlite-store.js');
  return SqliteStore.open(config.path, log);
}

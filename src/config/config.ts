import type { z } from 'zod';
import { ConfigError } from './config-error.js';
import type { gatewaySchema } from './schema.js';
import { gatewaySchema as schema } from './schema.js';

/** The configuration with every default filled in. Units and meaning of each key are in the schema. */
export type GatewayConfig = z.output<typeof gatewaySchema>;

/** The configuration as a user may give it: everything optional but the `url` of an upstream. */
export type GatewayOptions = z.input<typeof gatewaySchema>;

export type UpstreamConfig = GatewayConfig['upstreams'][string];

/**
 * Checks a configuration and fills in its defaults. A resolved configuration is accepted and comes back equal.
 * Throws `ConfigError` naming every key that is wrong.
 */
export function parseConfig(input: unknown): GatewayConfig {
  const parsed = schema.safeParse(input);
  if (!parsed.success) {
    throw new ConfigError(
      parsed.error.issues.map((issue) => ({ at: issue.path.join('.'), message: issue.message })),
    );
  }
  const config = parsed.data;
  const names = Object.keys(config.upstreams);
  const byDefault = config.defaultUpstream ?? (names.includes('default') ? 'default' : names[0]);
  return byDefault === undefined ? config : { ...config, defaultUpstream: byDefault };
}

/** The upstream of that name, or undefined; safe with names such as `constructor`. */
export function findUpstream(config: GatewayConfig, name: string): UpstreamConfig | undefined {
  return Object.hasOwn(config.upstreams, name) ? config.upstreams[name] : undefined;
}

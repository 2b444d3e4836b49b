import type { z } from 'zod';
import { ConfigError } from './config-error.js';
import { describeIssue, type LocatedText } from './issue-text.js';
import { formatPath } from './key-path.js';
import { brokenRules } from './rule.js';
import { gatewaySchema } from './schema.js';

/** The configuration with every default filled in. Units and meaning of each key are in the schema. */
export type GatewayConfig = z.output<typeof gatewaySchema>;

/** The configuration as a user may give it: everything optional but the `url` of an upstream. */
export type GatewayOptions = z.input<typeof gatewaySchema>;

export type UpstreamConfig = GatewayConfig['upstreams'][string];

/** Says where a value came from, for the errors about it. */
export type NamePlace = (path: readonly PropertyKey[]) => string;

/**
 * Checks a configuration and fills in its defaults. A resolved configuration is accepted and comes back equal.
 * A member that is `undefined` counts as absent. Throws `ConfigError` naming every key that is wrong.
 */
export function parseConfig(input: unknown, place: NamePlace = formatPath): GatewayConfig {
  const given = withoutUndefined(input ?? {});
  const parsed = gatewaySchema.safeParse(given);
  if (!parsed.success) {
    throw error(
      parsed.error.issues.flatMap((issue) => describeIssue(issue, given)),
      place,
    );
  }
  const config = parsed.data;
  const broken = brokenRules(config);
  if (broken.length > 0) throw error(broken, place);
  const names = Object.keys(config.upstreams);
  const defaultUpstream = config.defaultUpstream ?? (names.includes('default') ? 'default' : names[0]);
  return defaultUpstream === undefined ? config : { ...config, defaultUpstream };
}

/** The upstream of that name, or undefined; safe with names such as `constructor`. */
export function findUpstream(config: GatewayConfig, name: string): UpstreamConfig | undefined {
  return Object.hasOwn(config.upstreams, name) ? config.upstreams[name] : undefined;
}

function error(texts: readonly LocatedText[], place: NamePlace): ConfigError {
  return new ConfigError(texts.map(({ path, message }) => ({ at: place(path) || 'configuration', message })));
}

/** `{ publicUrl: process.env.URL }` is how programs write an optional member. */
function withoutUndefined(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([key, member]) => [key, withoutUndefined(member)]),
  );
}

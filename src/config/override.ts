import { ConfigError } from './config-error.js';
import { UPSTREAM_NAME, UPSTREAM_NAME_FORM } from './schema.js';
import type { Environment } from './variable.js';

/** What the command line says, as text; absent where it says nothing. */
export interface ConfigFlags {
  config?: string | undefined;
  listen?: string | undefined;
  /** URLs or `NAME=URL`. */
  upstream?: readonly string[] | undefined;
  /** Applies to every upstream. */
  era?: string | undefined;
  logLevel?: string | undefined;
}

/** A setting from outside the file and the name of the flag or variable it came from. */
export interface Override<Value = string> {
  label: string;
  value: Value;
}

export interface Overrides {
  config?: Override | undefined;
  listen?: Override | undefined;
  upstreams?: Override<Record<string, string>> | undefined;
  era?: Override | undefined;
  logLevel?: Override | undefined;
  publicUrl?: Override | undefined;
}

/**
 * Gathers flags and `MCP_GANGWAY_*` variables, flags first. An empty variable counts as unset, which is how
 * container files spell it. Throws `ConfigError` when an upstream has no usable name.
 */
export function gatherOverrides(flags: ConfigFlags, environment: Environment): Overrides {
  const pick = (flag: string | undefined, option: string, variable: string): Override | undefined =>
    flag === undefined ? fromVariable(environment, variable) : { label: option, value: flag };
  const listed = fromVariable(environment, 'MCP_GANGWAY_UPSTREAM');
  const upstreams =
    flags.upstream !== undefined && flags.upstream.length > 0
      ? { label: '--upstream', value: flags.upstream }
      : listed && { label: listed.label, value: listed.value.trim().split(/\s+/) };
  return {
    config: pick(flags.config, '--config', 'MCP_GANGWAY_CONFIG'),
    listen: pick(flags.listen, '--listen', 'MCP_GANGWAY_LISTEN'),
    upstreams: upstreams && { label: upstreams.label, value: namedUpstreams(upstreams) },
    era: flags.era === undefined ? undefined : { label: '--era', value: flags.era },
    logLevel: pick(flags.logLevel, '--log-level', 'MCP_GANGWAY_LOG_LEVEL'),
    publicUrl: fromVariable(environment, 'MCP_GANGWAY_PUBLIC_URL'),
  };
}

function fromVariable(environment: Environment, name: string): Override | undefined {
  const value = environment[name];
  return value === undefined || value.trim() === '' ? undefined : { label: name, value };
}

/** One URL needs no name and becomes `default`; a URL holds no `=` before its first `:`. */
function namedUpstreams({ label, value }: Override<readonly string[]>): Record<string, string> {
  const named = new Map<string, string>();
  for (const text of value) {
    const [, name = 'default', url = ''] = /^(?:([^=:/?#]*)=)?(.*)$/s.exec(text) ?? [];
    if (!UPSTREAM_NAME.test(name)) {
      throw new ConfigError([{ at: label, message: `expected URL or NAME=URL with ${UPSTREAM_NAME_FORM}` }]);
    }
    if (named.has(name)) {
      const reason =
        name === 'default' ? 'only one upstream can go without a name' : `two upstreams are named ${name}`;
      throw new ConfigError([{ at: label, message: `${reason}; write NAME=URL` }]);
    }
    named.set(name, url);
  }
  return Object.fromEntries(named);
}

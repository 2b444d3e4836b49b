import { dirname, resolve } from 'node:path';
import { parseConfig, type GatewayConfig } from './config.js';
import { ConfigError } from './config-error.js';
import { readConfigFile, readTextFile } from './file.js';
import type { LocatedText } from './issue-text.js';
import { formatPath, valueAt } from './key-path.js';
import { gatherOverrides, type ConfigFlags, type Overrides } from './override.js';
import { expandVariables, type Environment } from './variable.js';

type Tree = Record<string, unknown>;

/**
 * Makes the configuration from command line, environment, file and defaults, in this order of precedence.
 * Upstreams given by flag or variable replace those of the file as a whole: settings meant for one server,
 * credentials above all, never reach another. Throws `ConfigError` with every problem found.
 */
export async function loadConfig(flags: ConfigFlags, environment: Environment): Promise<GatewayConfig> {
  const overrides = gatherOverrides(flags, environment);
  const file = overrides.config?.value;
  const fromFile = file === undefined ? {} : await readTree(file, environment);
  return parseConfig(overlay(fromFile, overrides), (path) => nameOrigin(path, overrides, file));
}

async function readTree(file: string, environment: Environment): Promise<unknown> {
  const problems: LocatedText[] = [];
  const tree = expandVariables(await readConfigFile(file), environment, problems);
  if (problems.length > 0) {
    throw new ConfigError(
      problems.map(({ path, message }) => ({ at: `${file}: ${formatPath(path)}`, message })),
    );
  }
  if (!isTree(tree)) return tree;
  // Editors find the JSON Schema of a file by this key.
  delete tree.$schema;
  await inlineCertificates(tree, file);
  return tree;
}

/** A resolved configuration holds the certificates themselves, so that nothing else needs to know the file's folder. */
async function inlineCertificates(tree: Tree, file: string): Promise<void> {
  if (!isTree(tree.upstreams)) return;
  for (const [name, upstream] of Object.entries(tree.upstreams)) {
    const tls = valueAt(upstream, ['tls']);
    if (!isTree(tls) || typeof tls.ca !== 'string' || tls.ca === '' || tls.ca.includes('-----BEGIN'))
      continue;
    const at = `${file}: ${formatPath(['upstreams', name, 'tls', 'ca'])}`;
    tls.ca = await readTextFile(resolve(dirname(file), tls.ca), at);
  }
}

function overlay(fromFile: unknown, overrides: Overrides): unknown {
  if (!isTree(fromFile)) return fromFile;
  const tree: Tree = { ...fromFile };
  if (overrides.listen !== undefined) tree.listen = overrides.listen.value;
  if (overrides.publicUrl !== undefined) tree.publicUrl = overrides.publicUrl.value;
  if (overrides.logLevel !== undefined && isTree(tree.logging ?? {})) {
    tree.logging = { ...(tree.logging as Tree | undefined), level: overrides.logLevel.value };
  }
  if (overrides.upstreams !== undefined) {
    const given = overrides.upstreams.value;
    tree.upstreams = Object.fromEntries(Object.entries(given).map(([name, url]) => [name, { url }]));
    if (!(typeof tree.defaultUpstream === 'string' && Object.hasOwn(given, tree.defaultUpstream))) {
      delete tree.defaultUpstream;
    }
  }
  if (overrides.era !== undefined) tree.upstreams = pinned(tree.upstreams, overrides.era.value);
  return tree;
}

function pinned(upstreams: unknown, era: string): unknown {
  if (upstreams === undefined || (isTree(upstreams) && Object.keys(upstreams).length === 0)) {
    throw new ConfigError([{ at: '--era', message: 'expected an upstream to apply to, but there is none' }]);
  }
  if (!isTree(upstreams)) return upstreams;
  return Object.fromEntries(
    Object.entries(upstreams).map(([name, upstream]) => [
      name,
      isTree(upstream) ? { ...upstream, era } : upstream,
    ]),
  );
}

function nameOrigin(path: readonly PropertyKey[], overrides: Overrides, file: string | undefined): string {
  const key = formatPath(path);
  const whole = (label: string | undefined) => (label === undefined ? undefined : `${label} (${key})`);
  const origin =
    (path[0] === 'listen' ? overrides.listen?.label : undefined) ??
    (path[0] === 'publicUrl' ? overrides.publicUrl?.label : undefined) ??
    (key === 'logging.level' ? overrides.logLevel?.label : undefined) ??
    (path[0] === 'upstreams' && path[2] === 'era' ? overrides.era?.label : undefined) ??
    (path[0] === 'upstreams' ? whole(overrides.upstreams?.label) : undefined);
  return origin ?? (file === undefined ? key : [file, key].filter((part) => part !== '').join(': '));
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

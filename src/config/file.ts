import { readFile } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import { ConfigError } from './config-error.js';

/**
 * Reads a YAML or JSON file into a tree; JSON is read as the YAML it is, so that doubled keys are found in it
 * too. An empty file is an empty configuration. Throws `ConfigError` with the position of what cannot be read
 * and the kind of mistake, never the text there: it may be a secret.
 */
export async function readConfigFile(file: string): Promise<unknown> {
  // Not 'silent': that would also silence the error for a second document in the file.
  const document = parseDocument(await readTextFile(file, file), { logLevel: 'error' });
  const [mistake] = [...document.errors, ...document.warnings];
  if (mistake !== undefined) {
    const place = mistake.linePos?.[0];
    const at = place === undefined ? file : `${file}:${place.line}:${place.col}`;
    throw notYaml(at, mistake.code.toLowerCase().replaceAll('_', ' '));
  }
  try {
    return document.toJS() ?? {};
  } catch {
    throw notYaml(file, 'an alias (*) without its anchor (&), or too many of them');
  }
}

/** Reads a whole file; throws `ConfigError` under the name `at` when that fails. */
export async function readTextFile(file: string, at: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
    const reason = REASONS[code] ?? code;
    throw new ConfigError([{ at, message: `cannot read the file: ${reason}` }]);
  }
}

const REASONS: Record<string, string | undefined> = {
  ENOENT: 'there is none',
  EACCES: 'permission denied',
  EISDIR: 'it is a directory',
};

function notYaml(at: string, kind: string): ConfigError {
  return new ConfigError([{ at, message: `expected YAML or JSON, got a mistake in its syntax (${kind})` }]);
}

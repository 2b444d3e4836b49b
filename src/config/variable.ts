import type { LocatedText } from './issue-text.js';
import { nodeAt } from './schema-node.js';

/** The process environment, or what a test puts in its place. */
export type Environment = Readonly<Record<string, string | undefined>>;

// "$${" is a literal "${"; anything else that begins like a reference must be one.
const REFERENCE = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{/g;

/**
 * Replaces `${NAME}` and `${NAME:-default}` in every string value of a configuration tree; the default also
 * serves for an empty variable, as in a shell. Keys stay as they are, and what a variable holds is not
 * expanded again. Where a number or a boolean belongs, the expanded text is read as one. Adds to `problems`
 * what cannot be expanded, naming the variable but never what another one holds.
 */
export function expandVariables(
  value: unknown,
  environment: Environment,
  problems: LocatedText[],
  path: readonly PropertyKey[] = [],
): unknown {
  if (typeof value === 'string') {
    const text = expandText(value, environment, (message) => problems.push({ path, message }));
    return text === value ? value : typed(text, nodeAt(path)?.type);
  }
  if (Array.isArray(value)) {
    return value.map((item, index) => expandVariables(item, environment, problems, [...path, index]));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      expandVariables(member, environment, problems, [...path, key]),
    ]),
  );
}

function expandText(text: string, environment: Environment, complain: (message: string) => void): string {
  return text.replaceAll(REFERENCE, (match: string, name?: string, fallback?: string) => {
    if (match === '$${') return '${';
    if (name === undefined) {
      complain('expected ${NAME} or ${NAME:-default} (write $${ for a literal ${)');
      return match;
    }
    const found = Object.hasOwn(environment, name) ? environment[name] : undefined;
    if (fallback !== undefined) return found === undefined || found === '' ? fallback : found;
    if (found === undefined) complain(`environment variable ${name} is not set`);
    return found ?? match;
  });
}

function typed(text: string, type: string | undefined): unknown {
  if (type === 'integer' && /^-?\d+(?:\.\d+)?$/.test(text)) return Number(text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

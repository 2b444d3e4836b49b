/**
 * `x-mcp-header` annotations in a tool's `inputSchema` (X7).
 * @see /specification/2026-07-28/basic/transports/streamable-http#schema-extension
 */
import {
  type Span,
  kindOf,
  memberOf,
  scanInnerArray,
  scanInnerObject,
  stringValue,
} from '../jsonrpc/json-scan.js';

/** One parameter that is mirrored into `Mcp-Param-<header>`. */
export interface HeaderParam {
  /** The annotation's value, in the server's spelling. */
  readonly header: string;
  /** The member names that lead to the parameter, from the root of `arguments`. */
  readonly path: readonly string[];
  readonly type: 'string' | 'integer' | 'boolean';
}

/** The annotations of one tool, or why its definition is invalid. */
export type HeaderAnnotations =
  | { readonly ok: true; readonly params: readonly HeaderParam[] }
  | { readonly ok: false; readonly reason: string };

const ANNOTATION = 'x-mcp-header';
/** Each level is scanned again, so a hostile schema costs its depth times its size. */
const MAX_SCHEMA_LEVELS = 64;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Keywords that hold schemas which a chain of `properties` does not reach, by the shape of their value. */
const SCHEMA_KEYWORDS: ReadonlySet<string> = new Set([
  'items',
  'additionalItems',
  'prefixItems',
  'unevaluatedItems',
  'contains',
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
  'contentSchema',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
]);
const SCHEMA_MAP_KEYWORDS: ReadonlySet<string> = new Set([
  'patternProperties',
  'dependentSchemas',
  'dependencies',
  '$defs',
  'definitions',
]);

/** Thrown inside the walk only. */
class InvalidAnnotation extends Error {}

/**
 * X7: the mirrored parameters of a tool. One annotation that breaks a rule makes the whole tool invalid; the
 * reason names it. A property that is called `x-mcp-header` and data such as `const` are no annotations.
 * @param schema JSON text of the `inputSchema`, already known to be valid JSON
 */
export function headerAnnotations(schema: string): HeaderAnnotations {
  // Nearly all tools have none, and the word costs less to look for than the schema to walk. A server that
  // writes the keyword with \u escapes is walked, too.
  if (!schema.includes(ANNOTATION) && !schema.includes('\\u')) return { ok: true, params: [] };
  const params: HeaderParam[] = [];
  try {
    walk(schema, { start: 0, end: schema.length }, { path: [], reachable: true, level: 1 }, params);
  } catch (error) {
    if (error instanceof InvalidAnnotation) return { ok: false, reason: error.message };
    throw error;
  }
  return { ok: true, params };
}

interface Place {
  readonly path: readonly string[];
  /** Whether only `properties` lead here. */
  readonly reachable: boolean;
  readonly level: number;
}

function walk(text: string, at: Span, place: Place, found: HeaderParam[]): void {
  const { path, reachable } = place;
  if (kindOf(text, at) !== 'object') return;
  const level = place.level + 1;
  if (level > MAX_SCHEMA_LEVELS) throw new InvalidAnnotation('inputSchema is nested too deep to be checked');
  for (const member of scanInnerObject(text, at.start).members) {
    const { key } = member;
    const kind = kindOf(text, member);
    if (key === ANNOTATION) {
      if (!reachable || path.length === 0) {
        throw invalid(path, 'is not on a property reached through "properties" alone');
      }
      add(found, annotation(text, at, member, path));
    } else if (key === 'properties' || SCHEMA_MAP_KEYWORDS.has(key)) {
      if (kind !== 'object') continue;
      for (const child of scanInnerObject(text, member.start).members) {
        const inner = { path: [...path, child.key], reachable: reachable && key === 'properties', level };
        walk(text, child, inner, found);
      }
    } else if (SCHEMA_KEYWORDS.has(key)) {
      const branches = kind === 'array' ? scanInnerArray(text, member.start) : [member];
      for (const branch of branches) walk(text, branch, { path, reachable: false, level }, found);
    }
  }
}

function annotation(text: string, schema: Span, value: Span, path: readonly string[]): HeaderParam {
  const header = stringValue(text, value);
  if (header === undefined || header === '') throw invalid(path, 'is no non-empty string');
  if (!TOKEN.test(header)) throw invalid(path, `is no HTTP token: ${JSON.stringify(header)}`);
  const type = stringValue(text, memberOf(scanInnerObject(text, schema.start), 'type'));
  if (type !== 'string' && type !== 'integer' && type !== 'boolean') {
    throw invalid(path, 'is on a property whose type is not exactly string, integer or boolean');
  }
  return { header, path, type };
}

function add(found: HeaderParam[], param: HeaderParam): void {
  const name = param.header.toLowerCase();
  if (found.some((other) => other.header.toLowerCase() === name)) {
    throw invalid(param.path, `repeats the header name ${JSON.stringify(param.header)}`);
  }
  found.push(param);
}

function invalid(path: readonly string[], problem: string): InvalidAnnotation {
  return new InvalidAnnotation(`${ANNOTATION} at ${JSON.stringify(path.join('.'))} ${problem}`);
}

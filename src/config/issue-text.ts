import type { z } from 'zod';
import { valueAt } from './key-path.js';
import { nearest } from './nearest.js';
import { knownKeys, nodeAt, variants, type SchemaNode } from './schema-node.js';

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** A problem before it is known from which flag, variable or file the value came. */
export interface LocatedText {
  path: Path;
  message: string;
}

/**
 * Turns one validation issue into texts that name what was expected and the shape of what was found. Values
 * never appear: a secret may stand under any key by mistake. Only numbers do, where a number belongs.
 */
export function describeIssue(issue: Issue, input: unknown): LocatedText[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: [...issue.path, key],
      message: `unknown key${suggestion(key, issue.path)}`,
    }));
  }
  if (issue.code === 'invalid_union') {
    const nested = relevantVariant(issue);
    if (nested !== undefined) {
      return nested.flatMap((inner) =>
        describeIssue({ ...inner, path: [...issue.path, ...inner.path] }, input),
      );
    }
  }
  const value = valueAt(input, issue.path);
  // What is wrong with a key is the key, which stands in the path; its value may be a secret and is beside the point.
  if (issue.code === 'invalid_key') return [{ path: issue.path, message: `expected ${expectation(issue)}` }];
  const found = value === undefined ? 'but it is missing' : `got ${shape(value, issue.path)}`;
  return [{ path: issue.path, message: `expected ${expectation(issue)}, ${found}` }];
}

/** The alternative whose outer type fits: its complaints are about what the user meant. */
function relevantVariant(issue: z.core.$ZodIssueInvalidUnion): Issue[] | undefined {
  return issue.errors.find(
    (issues) =>
      issues.length > 0 && !issues.some((inner) => inner.path.length === 0 && inner.code === 'invalid_type'),
  );
}

function expectation(issue: Issue): string {
  if (issue.code === 'invalid_key') return issue.issues[0]?.message ?? 'another name';
  // These two codes carry a sentence of ours; for all others zod's own would repeat the value's type in its words.
  if (issue.code === 'custom' || issue.code === 'invalid_format') return issue.message;
  const node = nodeAt(issue.path);
  return node === undefined ? 'something else' : describeNode(node);
}

/** What a schema node asks for, to complete "expected …". */
export function describeNode(node: SchemaNode): string {
  const alternatives = variants(node);
  const constants = alternatives.map((variant) => variant.const);
  if (constants.every((value) => value !== undefined)) return oneOf(constants);
  if (alternatives.length > 1) return [...new Set(alternatives.map(describeNode))].join(' or ');
  if (node.enum !== undefined) return oneOf(node.enum);
  switch (node.type) {
    case 'integer':
      return `a whole number ${range(node)}`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return 'a list';
    case 'object':
      return 'an object';
    default:
      return node.format === 'uri' ? 'an http or https URL' : 'a string';
  }
}

function oneOf(values: readonly string[]): string {
  return values.length === 1 ? `'${values[0] ?? ''}'` : `one of ${values.join(', ')}`;
}

/** The bounds of an integer in words. */
export function range(node: SchemaNode): string {
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = node;
  return maximum === Number.MAX_SAFE_INTEGER ? `of at least ${minimum}` : `from ${minimum} to ${maximum}`;
}

function shape(value: unknown, path: Path): string {
  if (value === null) return 'an empty value (null)';
  if (Array.isArray(value)) return `a list of ${amount(value.length, 'item')}`;
  switch (typeof value) {
    case 'string':
      return value === '' ? 'an empty string' : `a string of ${amount(value.length, 'character')}`;
    case 'number':
      return nodeAt(path)?.type === 'integer' ? `the number ${value}` : 'a number';
    case 'object':
      return `an object with ${amount(Object.keys(value).length, 'key')}`;
    default:
      return `a ${typeof value}`;
  }
}

function amount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function suggestion(key: string, parent: Path): string {
  const here = knownKeys(parent);
  if (here.includes(key)) return ' in this mode';
  const close = nearest(key, here);
  if (close !== undefined) return `; did you mean ${close}?`;
  const section = knownKeys([]).find((name) => knownKeys([name]).includes(key));
  if (section !== undefined) return `; it belongs under ${section}`;
  return here.length === 0 ? '' : `; known here: ${here.join(', ')}`;
}

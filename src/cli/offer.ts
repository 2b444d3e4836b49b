import type { UpstreamReport } from '../upstreams/report.js';

/** A server's capabilities, read the same way for both eras. */
export interface Offer {
  tools: boolean;
  resources: boolean;
  prompts: boolean;
  completions: boolean;
  logging: boolean;
  /** Whether anything can change or be subscribed to. */
  changes: boolean;
  /** Tasks as a capability (legacy) or as an extension (modern). */
  tasks: boolean;
  /** Names of the extensions, tasks aside. */
  extensions: string[];
}

const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** Reads the capabilities of a report; absent or malformed members count as not offered. */
export function offers({ capabilities = {} }: UpstreamReport): Offer {
  const has = (name: string) => isObject(capabilities[name]);
  const flag = (name: string, member: string) => {
    const section = capabilities[name];
    return isObject(section) && section[member] === true;
  };
  const extensions = isObject(capabilities.extensions) ? Object.keys(capabilities.extensions) : [];
  return {
    tools: has('tools'),
    resources: has('resources'),
    prompts: has('prompts'),
    completions: has('completions'),
    logging: has('logging'),
    changes:
      flag('resources', 'subscribe') ||
      ['tools', 'resources', 'prompts'].some((name) => flag(name, 'listChanged')),
    tasks: has('tasks') || extensions.includes(TASKS_EXTENSION),
    extensions: extensions.filter((name) => name !== TASKS_EXTENSION),
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

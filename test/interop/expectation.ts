import { isDeepStrictEqual } from 'node:util';
import type { ClientKind } from './client.js';
import type { ServerKind } from './server.js';

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

const TOOLS = [
  'probe_steps',
  'probe_echo',
  'probe_structured',
  'test_error_handling',
  'probe_slow',
  'probe_log',
  'probe_elicit_form',
  'probe_elicit_url',
  'probe_sample',
  'probe_roots',
  'probe_two_rounds',
  'probe_counter',
  'probe_trigger_change',
];

type Expectation = (seen: any, client: ClientKind, server: ServerKind) => boolean;

const exactly =
  (expected: unknown): Expectation =>
  (seen) =>
    isDeepStrictEqual(seen, expected);

const contains = (seen: unknown, wanted: readonly string[]): boolean =>
  Array.isArray(seen) && wanted.every((item) => seen.includes(item));

function levelsHeard(client: ClientKind, serverName: string): string[] {
  // Every client asks for warnings where it can. The Python servers do not say that they have log levels, so legacy
  // clients do not ask them: they hear all of 1.x, as without a gateway, and of 2.x what the gateway asks for.
  const asked = client.era === 'modern' || !serverName.startsWith('python');
  const least = asked ? 'warning' : serverName === 'python-v1' ? 'debug' : 'info';
  return LEVELS.slice(LEVELS.indexOf(least));
}

/** What a client has to see of each feature, in front of whichever server. */
export const EXPECTATIONS: Record<string, Expectation> = {
  introduction: (seen, client, server) => {
    const revision = client.era === 'legacy' ? '2025-11-25' : '2026-07-28';
    return isDeepStrictEqual(seen, [revision, client.introduced ? server.serverName : '']);
  },
  tools: (seen) => contains(seen, TOOLS),
  call: exactly({ value: { a: [1, 'zwei', null], ключ: '日本 😀' } }),
  structured: exactly({ n: 7, squared: 49 }),
  tool_error: exactly(true),
  progress: exactly([[1, 2, 3].map((tick) => [tick, 3, `tick ${tick}`]), 'done p after 3 ticks']),
  log: (seen, client, { serverName }) => isDeepStrictEqual(seen, levelsHeard(client, serverName)),
  resources: (seen) =>
    contains(seen?.listed, ['test://static-text', 'test://watched-resource']) &&
    contains(seen?.templates, ['test://template/{id}/data']) &&
    seen.read === 'This is the content of the static text resource.' &&
    seen.made === '42',
  missing_resource: (seen, client, server) => {
    // FastMCP answers with a code of its own, which means the same in both eras: nothing.
    if (server.serverName === 'python-v1') return seen === 0;
    return seen === (client.era === 'legacy' ? -32002 : -32602);
  },
  prompts: (seen) =>
    contains(seen?.listed, ['test_simple_prompt', 'test_prompt_with_arguments']) &&
    seen.text === "Prompt with arguments: arg1='eins', arg2='zwei'",
  completion: exactly(['paris', 'park', 'party']),
  elicitation: exactly([{ action: 'accept', content: { name: 'Ada' } }, { action: 'decline' }]),
  url_elicitation: exactly('accept'),
  sampling: exactly('hi'),
  roots: exactly([{ uri: 'file:///root', name: 'Root' }]),
  rounds: exactly('Ada / hi'),
  at_once: exactly([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
  changes: exactly(['tools', 'updated test://watched-resource']),
  cancelled: exactly('after'),
};

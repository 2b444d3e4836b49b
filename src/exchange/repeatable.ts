const REPEATABLE = new Set([
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'server/discover',
]);

/**
 * Whether a request whose fate is unknown may be sent again: reading twice does no harm, running a tool twice may.
 */
export function isRepeatable(method: string): boolean {
  return REPEATABLE.has(method);
}

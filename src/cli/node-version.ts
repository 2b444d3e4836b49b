/** The oldest Node the gateway and its dependencies run on, as `engines` in package.json says. */
const OLDEST = [20, 19] as const;

/** Why this Node cannot run the gateway, or undefined when it can. `version` as in `process.versions.node`. */
export function unsupportedNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return undefined;
  return `mcp-gangway needs Node ${OLDEST.join('.')} or newer; this is Node ${version}`;
}

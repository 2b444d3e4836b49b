/** Prints a path into the configuration as a person would write it: `upstreams.a.headers["X Y"]`, `allowedHosts[0]`. */
export function formatPath(path: readonly PropertyKey[]): string {
  let text = '';
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`;
    else if (/^[\w$-]+$/.test(String(key))) text += `${text === '' ? '' : '.'}${shortened(String(key))}`;
    else text += `[${JSON.stringify(shortened(String(key)))}]`;
  }
  return text;
}

/** The value at a path of own properties, or undefined. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return undefined;
    current = (current as Record<PropertyKey, unknown>)[key];
  }
  return current;
}

/** A key is printed in errors; a pasted document in its place should not fill the screen. */
function shortened(key: string): string {
  return key.length <= 64 ? key : `${key.slice(0, 63)}…`;
}

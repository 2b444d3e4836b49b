import fs from 'node:fs';

export * from 'node:fs';
export { fs as default };

/** Node 22 has it; on Node 20 only the suite's own release tooling would call it. */
export const globSync =
  fs.globSync ??
  (() => {
    throw new Error('globSync needs Node 22');
  });

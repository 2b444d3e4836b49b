import { createRequire } from 'node:module';

function readVersion(): string {
  const require = createRequire(import.meta.url);
  // From the sources the manifest is two folders up, from the build output three.
  for (const path of ['../../package.json', '../../../package.json']) {
    try {
      const manifest = require(path) as { name?: unknown; version?: unknown };
      if (manifest.name === 'mcp-gangway' && typeof manifest.version === 'string') return manifest.version;
    } catch {
      // Not there: the other layout.
    }
  }
  return '0.0.0';
}

/** How the gateway names itself where no peer's name is to be passed on. */
export const IMPLEMENTATION = { name: 'mcp-gangway', version: readVersion() } as const;

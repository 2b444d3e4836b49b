import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDER = join(ROOT, '.tmp', 'entries');

/** What tests start as processes of their own. */
const ENTRIES = ['test/peers/gateway-child.ts', 'src/cli/main.ts', 'test/unit/cli/stub-program.ts'];

/**
 * Where the bundle of one of the entries is, a path under the root in TypeScript: a file with all its modules in it starts
 * several times as fast as the modules one by one.
 */
export function bundledEntry(entry: string): string {
  if (!ENTRIES.includes(entry)) throw new Error(`${entry} is not bundled`);
  return join(FOLDER, `${basename(entry, '.ts')}.mjs`);
}

/** Bundles the entries, once before all tests. */
export default async function setup(): Promise<void> {
  await build({
    absWorkingDir: ROOT,
    entryPoints: ENTRIES.map((entry) => ({ in: entry, out: basename(entry, '.ts') })),
    outdir: FOLDER,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    sourcemap: 'inline',
    logLevel: 'warning',
  });
}

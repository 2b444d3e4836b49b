import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closing } from './closing.js';

/** An empty folder for the running test, removed behind it. */
export function temporaryFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'mcp-gangway-'));
  // A process that was killed a moment ago may still be writing.
  closing({ close: () => rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }) });
  return path;
}

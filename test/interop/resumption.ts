import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGateway } from '../peers/gateway.js';
import { runPython } from './python.js';
import type { ServerKind } from './server.js';

const STEPS = 50;
const EXPECTED = [...Array.from({ length: STEPS }, (_, i) => `step ${i + 1}`), `result: ${STEPS} steps done`];

/** After how many messages the client dies: once during the call, twice more during the resume; 0 lives to the end. */
const DEATHS = [12, 5, 7, 0];

/**
 * The resumable Python client, killed in mid-task and restarted without `initialize`, in front of this server. Resolves
 * with what went wrong; with nothing when it heard every message once and the result, of one single run.
 */
export async function resume(kind: ServerKind): Promise<string | undefined> {
  const server = await kind.start();
  const gateway = await startGateway(server.url, kind.gateway);
  const directory = mkdtempSync(join(tmpdir(), 'gangway-interop-'));
  try {
    const codes: (number | null)[] = [];
    for (const death of DEATHS) {
      const args = [gateway.url, join(directory, 'token'), join(directory, 'log'), String(death)];
      codes.push((await runPython('v1', 'resumable_client.py', args, 30_000)).code);
    }
    const lines = readFileSync(join(directory, 'log'), 'utf8').trim().split('\n');
    const seen = { codes, runs: server.runs(), lines };
    const right = lines.join('\n') === EXPECTED.join('\n') && codes.join() === '9,9,9,0' && seen.runs === 1;
    return right ? undefined : JSON.stringify(seen);
  } finally {
    rmSync(directory, { recursive: true });
    await gateway.close();
    await server.close();
  }
}

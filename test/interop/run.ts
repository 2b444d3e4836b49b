/**
 * Real peers of other makes through the gateway: the Python SDK of both major versions, as client and as server, beside
 * the TypeScript ones. `npm run interop`; not among the default tests, because it needs Python and a network.
 */
import { CLIENTS, type ClientKind } from './client.js';
import { type Failures, featuresOf, tryClients } from './cell.js';
import { makeEnvironments } from './python.js';
import { resume } from './resumption.js';
import {
  PYTHON_1,
  PYTHON_1_STATELESS,
  PYTHON_1_WITH_STORE,
  PYTHON_2,
  type ServerKind,
  TYPESCRIPT_1,
  TYPESCRIPT_2,
} from './server.js';

const SERVERS = [PYTHON_1, PYTHON_1_STATELESS, PYTHON_2, TYPESCRIPT_1, TYPESCRIPT_2];
const RESUMED = [PYTHON_1, PYTHON_1_WITH_STORE, PYTHON_2, TYPESCRIPT_1, TYPESCRIPT_2];

let failed = 0;

function printTable(server: ServerKind, results: Map<ClientKind, Failures>): void {
  const features = featuresOf(server);
  const width = Math.max(server.name.length, ...features.map(({ length }) => length));
  const rows = features.map((feature) => {
    const marks = CLIENTS.map((client) => {
      const mark = results.get(client)?.has(feature) === false ? 'yes' : 'NO';
      return mark.padEnd(client.name.length);
    });
    return [feature.padEnd(width), ...marks].join('  ');
  });
  console.log(
    [[server.name.padEnd(width), ...CLIENTS.map(({ name }) => name)].join('  '), ...rows].join('\n'),
  );
  for (const [client, failures] of results) {
    for (const [feature, reason] of failures) {
      failed++;
      console.log(`  ${client.name}, ${feature}: ${reason}`);
    }
  }
  console.log();
}

/** Works through the list, two at a time: each has processes to wait for. */
async function inPairs<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all([worker(), worker()]);
}

if (!makeEnvironments()) process.exit(1);
await inPairs(SERVERS, async (server) => printTable(server, await tryClients(server)));
console.log('The resumable Python client, killed three times');
await inPairs(RESUMED, async (server) => {
  const wrong = await resume(server);
  if (wrong !== undefined) failed++;
  console.log(`  ${server.name}: ${wrong ?? 'every message once, and the result, of one run'}`);
});
console.log(failed === 0 ? '\nEverything as it has to be.' : `\n${failed} failed.`);
process.exit(failed === 0 ? 0 : 1);

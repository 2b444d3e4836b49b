import { startGateway } from '../peers/gateway.js';
import { CLIENTS, type ClientKind, type Sighting } from './client.js';
import { EXPECTATIONS } from './expectation.js';
import type { InteropServer, ServerKind } from './server.js';

/** What went wrong, by feature; empty when a client saw what it had to see. */
export type Failures = Map<string, string>;

/** What of this server is tried. */
export function featuresOf({ features }: ServerKind): readonly string[] {
  return features ?? Object.keys(EXPECTATIONS);
}

/** Every client, one after the other, through one gateway in front of this server. */
export async function tryClients(kind: ServerKind): Promise<Map<ClientKind, Failures>> {
  const server = await kind.start();
  const gateway = await startGateway(server.url, kind.gateway);
  try {
    const results = new Map<ClientKind, Failures>();
    for (const client of CLIENTS) results.set(client, await tryClient(client, kind, server, gateway.url));
    return results;
  } finally {
    await gateway.close();
    await server.close();
  }
}

async function tryClient(
  client: ClientKind,
  kind: ServerKind,
  server: InteropServer,
  url: string,
): Promise<Failures> {
  const features = featuresOf(kind);
  const over = new AbortController();
  const told = server.aborted(over.signal).then(
    () => true,
    () => false,
  );
  const sightings = await client.report(url, features);
  // The client has gone on to another call since it cancelled, so the server is told by now or soon.
  const timer = setTimeout(() => over.abort(), features.includes('cancelled') ? 5000 : 0);
  const aborted = await told;
  clearTimeout(timer);
  const failures = judge(sightings, client, kind);
  if (features.includes('cancelled') && !aborted) failures.set('cancelled', 'the server was not told');
  return failures;
}

function judge(sightings: Sighting[], client: ClientKind, server: ServerKind): Failures {
  const failures: Failures = new Map();
  for (const { feature, error } of sightings) if (error !== undefined) failures.set(feature, error);
  for (const [feature, expected] of Object.entries(EXPECTATIONS)) {
    if (failures.has(feature) || !featuresOf(server).includes(feature)) continue;
    const sighting = sightings.find((one) => one.feature === feature);
    if (sighting === undefined) failures.set(feature, 'never tried');
    else if (!expected(sighting.seen, client, server)) failures.set(feature, JSON.stringify(sighting.seen));
  }
  return failures;
}

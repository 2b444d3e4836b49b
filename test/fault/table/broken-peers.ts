/** Scenes in which a process dies or a connection goes silent. */
import { DrivenServer } from './driven-server.js';
import { AT_CLIENT, AT_UPSTREAM, type Fate, type FaultCell } from './fault-cells.js';
import { type Scope, must, until } from './scope.js';
import { SilentRelay } from './silent-relay.js';
import { GatewayChild, beginCall, endingOf, mustServe, openGateway, setStage, stopAt } from './stage.js';

export async function killGateway(cell: FaultCell, scope: Scope): Promise<Fate> {
  const stage = await setStage(cell, scope);
  const gateway = await GatewayChild.start(stage, scope);
  const { client, other, call } = await beginCall(cell, stage, gateway.url);
  call.progress();
  await client.heard(2);
  await gateway.kill();
  const broke = await until(() => call.request.ended === 'dropped');
  const again = await GatewayChild.start(stage, scope);
  for (const one of [client, other]) one.moveTo(again.url);
  const ending = await endingOf(client);
  for (const one of [client, other]) await mustServe('a call after the restart', one);
  return { client: ending, upstream: broke ? AT_UPSTREAM.cut : AT_UPSTREAM.runs };
}

export async function killUpstream(cell: FaultCell, scope: Scope): Promise<Fate> {
  const stage = await setStage(cell, scope, { timeouts: { eraRetryMs: 50 } });
  const gateway = await openGateway(stage, scope, stage.upstream.server.url);
  const { client, other } = await beginCall(cell, stage, gateway.url);
  const { port } = stage.upstream.server;
  await stage.upstream.kill();
  const ending = await client.ending();
  const { code } = await other.probe();
  if (code === undefined) throw new Error('a call succeeded without an upstream');
  scope.closing(await DrivenServer.start(cell.upstream, port));
  for (const one of [client, other]) await mustServe('a call when the upstream is back', one);
  return { client: ending, upstream: AT_UPSTREAM.gone };
}

export async function cutClient(cell: FaultCell, scope: Scope): Promise<Fate> {
  const stage = await setStage(cell, scope);
  const gateway = await openGateway(stage, scope, stage.upstream.server.url);
  const relay = scope.closing(await SilentRelay.start(gateway.port));
  const { client, other, call } = await beginCall(cell, stage, relay.through(gateway.url), gateway.url);
  relay.cut();
  call.progress();
  await mustServe('another client', other);
  const upstream = stopAt(stage.upstream, call, AT_UPSTREAM.runs);
  if (client.answered || client.disconnected) throw new Error('the connection was to be silent');
  let ending: string = AT_CLIENT.nothing;
  if (cell.client === 'legacy') {
    if ((await client.resume()) !== 200) throw new Error('the stream is gone');
    await client.heard(2);
    call.finish();
    const resumed = await client.ending();
    ending = resumed === AT_CLIENT.result ? AT_CLIENT.resumed : resumed;
  } else {
    call.finish();
  }
  await mustServe('the same client, connected anew', client);
  return { client: ending, upstream };
}

/** How long an upstream may say nothing here, in milliseconds. */
const CALL_MS = 1200;

export async function cutUpstream(cell: FaultCell, scope: Scope): Promise<Fate> {
  const stage = await setStage(cell, scope, { timeouts: { callMs: CALL_MS } });
  const relay = scope.closing(await SilentRelay.start(stage.upstream.server.port));
  const gateway = await openGateway(stage, scope, relay.through(stage.upstream.server.url));
  const { client, other, call } = await beginCall(cell, stage, gateway.url);
  relay.cut();
  // A connection that is idle may be dead as well: whoever gets it has to wait, and whoever comes then is served.
  await mustServe('another client', other);
  const ending = await client.ending();
  await until(() => stage.upstream.isStopped(call), 1000);
  const upstream = stopAt(stage.upstream, call, AT_UPSTREAM.unheard);
  await must('a call on a new connection', () => client.isServed(), 2 * CALL_MS);
  return { client: ending, upstream };
}

/** Scenes in which a client takes nothing while its call has much to say. */
import { AT_CLIENT, AT_UPSTREAM, type Fate, type FaultCell } from './fault-cells.js';
import { type Scope, must, until } from './scope.js';
import { SilentRelay } from './silent-relay.js';
import { beginCall, endingOf, mustServe, openGateway, setStage, stopAt } from './stage.js';

const MESSAGES = 300;
const MESSAGE_BYTES = 100_000;

/** Far less than what is said, so that the gateway and not a buffer of the system decides. */
const CONFIG = {
  limits: { streamBufferBytes: 65_536 },
  replay: { maxEvents: 10_000, maxBytes: 64 << 20 },
};

async function stall(cell: FaultCell, scope: Scope, stallMs: number) {
  const stage = await setStage(cell, scope, { ...CONFIG, timeouts: { stallMs } });
  const gateway = await openGateway(stage, scope, stage.upstream.server.url);
  const relay = scope.closing(await SilentRelay.start(gateway.port));
  const begun = await beginCall(cell, stage, relay.through(gateway.url), gateway.url);
  relay.cut();
  for (let i = 1; i < MESSAGES; i++) begun.call.progress(MESSAGE_BYTES);
  await mustServe('another client', begun.other);
  return { ...begun, stage, gateway, relay };
}

export async function stallForAWhile(cell: FaultCell, scope: Scope): Promise<Fate> {
  const { client, other, call, relay, stage } = await stall(cell, scope, 60_000);
  call.finish();
  // Read to its end within a moment, or not at all.
  const read = await until(() => call.waiting === 0, cell.client === 'legacy' ? undefined : 1000);
  const upstream = stopAt(stage.upstream, call, read ? AT_UPSTREAM.runs : AT_UPSTREAM.paused);
  relay.mend();
  const ending = await endingOf(client);
  if (client.progress.length !== MESSAGES) throw new Error(`${client.progress.length} of ${MESSAGES} came`);
  for (const one of [client, other]) await mustServe('a call afterwards', one);
  return { client: ending, upstream };
}

export async function stallForGood(cell: FaultCell, scope: Scope): Promise<Fate> {
  const { client, call, gateway, stage } = await stall(cell, scope, 500);
  if (cell.client === 'modern') {
    await must('the upstream hears of it', () => stage.upstream.isStopped(call));
    await must('nothing of the call is left', () => gateway.activity().upstreamRequests === 0);
    await mustServe('the same client, connected anew', client);
    return { client: AT_CLIENT.cut, upstream: stopAt(stage.upstream, call, AT_UPSTREAM.runs) };
  }
  const upstream = stopAt(stage.upstream, call, AT_UPSTREAM.runs);
  call.finish();
  // It comes back past the dead connection.
  client.moveTo(gateway.url);
  client.hangUp();
  const ending = await endingOf(client);
  if (client.progress.length !== MESSAGES) throw new Error(`${client.progress.length} of ${MESSAGES} came`);
  await mustServe('a call afterwards', client);
  return { client: ending, upstream };
}

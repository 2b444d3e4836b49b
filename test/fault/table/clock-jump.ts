/** Scenes in which the wall clock is set. */
import { AT_CLIENT, AT_UPSTREAM, type Fate, type FaultCell } from './fault-cells.js';
import type { Scope } from './scope.js';
import { GatewayChild, beginCall, setStage, stopAt } from './stage.js';

const HOUR_MS = 3_600_000;

async function jump(cell: FaultCell, scope: Scope, ms: number): Promise<Fate> {
  const stage = await setStage(cell, scope);
  const gateway = await GatewayChild.start(stage, scope);
  const { client, other, call } = await beginCall(cell, stage, gateway.url);
  await gateway.setClock(ms);
  // The session was idle, and its client begins no other: it is still there.
  const { status } = await other.probe();
  if (status !== 200) throw new Error(`another client's session: ${status}`);
  call.progress();
  await client.heard(2);
  if (cell.client === 'legacy') {
    client.hangUp();
    if ((await client.resume()) !== 200) throw new Error('an event id from before the jump is unknown');
  }
  call.progress();
  await client.heard(3);
  call.finish();
  const ending = await client.ending();
  if (ending === AT_CLIENT.result && (await client.probe()).status !== 200)
    throw new Error('no call after it');
  return { client: ending, upstream: stopAt(stage.upstream, call, AT_UPSTREAM.runs) };
}

export const jumpForward = (cell: FaultCell, scope: Scope): Promise<Fate> => jump(cell, scope, HOUR_MS);
export const jumpBack = (cell: FaultCell, scope: Scope): Promise<Fate> => jump(cell, scope, -HOUR_MS);

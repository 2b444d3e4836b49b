import { cutClient, cutUpstream, killGateway, killUpstream } from './broken-peers.js';
import { jumpBack, jumpForward } from './clock-jump.js';
import type { Fate, Fault, FaultCell } from './fault-cells.js';
import { Scope } from './scope.js';
import { stallForAWhile, stallForGood } from './stalled-reader.js';
import { fillStore, freezeRedis, killRedis } from './store-away.js';

const SCENES: Readonly<Record<Fault, (cell: FaultCell, scope: Scope) => Promise<Fate>>> = {
  'gateway killed': killGateway,
  'upstream killed': killUpstream,
  "client's socket cut without FIN": cutClient,
  "upstream's socket cut without FIN": cutUpstream,
  'reader stalls, and reads on': stallForAWhile,
  'reader stalls for good': stallForGood,
  'store full': fillStore,
  'Redis frozen, and thawed': freezeRedis,
  'Redis killed, and started again': killRedis,
  'clock an hour forward': jumpForward,
  'clock an hour back': jumpBack,
};

/** Lets it happen, and tells how it ended. @throws Error what holds in every cell did not */
export async function play(cell: FaultCell): Promise<Fate> {
  const scope = new Scope();
  try {
    return await SCENES[cell.fault](cell, scope);
  } finally {
    await scope.close();
  }
}

/** Scenes in which the store takes nothing for a while. */
import { createClient } from 'redis';
import { AT_CLIENT, AT_UPSTREAM, type Fate, type FaultCell } from './fault-cells.js';
import { type Scope, must } from './scope.js';
import { GatewayChild, type Stage, beginCall, mustServe, openGateway, setStage, stopAt } from './stage.js';

const STORE_UNAVAILABLE = -31015;

interface Outage {
  begin(): Promise<void> | void;
  end(): Promise<void> | void;
}

async function sitOut(cell: FaultCell, stage: Stage, url: string, outage: Outage): Promise<Fate> {
  const { client, other, call } = await beginCall(cell, stage, url);
  await outage.begin();
  call.progress();
  if (cell.client === 'legacy') {
    await must('new requests are refused', async () => {
      const { status, code } = await other.probe();
      return status === 503 && code === STORE_UNAVAILABLE;
    });
  } else {
    await mustServe('a client that needs no store', other);
  }
  call.finish();
  if (cell.client === 'legacy') {
    // Said before this was refused, so the gateway has read it.
    await must('refused still', async () => (await other.probe()).status === 503);
    if (client.answered || client.progress.length > 1) throw new Error('a client was told what is not kept');
  } else {
    await client.ending();
  }
  await outage.end();
  const ending = await client.ending();
  for (const one of [client, other]) await mustServe('a call afterwards', one);
  const told = cell.client === 'legacy' && ending === AT_CLIENT.result ? AT_CLIENT.delayed : ending;
  return { client: told, upstream: stopAt(stage.upstream, call, AT_UPSTREAM.runs) };
}

export async function fillStore(cell: FaultCell, scope: Scope): Promise<Fate> {
  const stage = await setStage(cell, scope);
  const { redis } = stage;
  if (redis === undefined) {
    const gateway = await GatewayChild.start(stage, scope);
    return sitOut(cell, stage, gateway.url, {
      begin: () => gateway.limitFiles('0'),
      end: () => gateway.limitFiles('unlimited'),
    });
  }
  const gateway = await openGateway(stage, scope, stage.upstream.server.url);
  const admin = createClient({ url: redis.url }).on('error', () => undefined);
  await admin.connect();
  scope.closing({ close: () => admin.destroy() });
  return sitOut(cell, stage, gateway.url, {
    begin: async () => {
      await admin.configSet('maxmemory', '1');
    },
    end: async () => {
      await admin.configSet('maxmemory', '0');
    },
  });
}

export async function freezeRedis(cell: FaultCell, scope: Scope): Promise<Fate> {
  const stage = await setStage(cell, scope);
  const gateway = await openGateway(stage, scope, stage.upstream.server.url);
  return sitOut(cell, stage, gateway.url, {
    begin: () => stage.redis?.freeze(),
    end: () => stage.redis?.thaw(),
  });
}

export async function killRedis(cell: FaultCell, scope: Scope): Promise<Fate> {
  const stage = await setStage(cell, scope);
  const gateway = await openGateway(stage, scope, stage.upstream.server.url);
  return sitOut(cell, stage, gateway.url, {
    begin: () => stage.redis?.kill(),
    end: () => stage.redis?.restart(),
  });
}

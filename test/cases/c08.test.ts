import { describe, expect, test } from 'vitest';
import { ERAS } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import type { SeenRequest } from '../peers/peer-log.js';
import type { RawResponse } from '../peers/raw-client.js';
import {
  type Script,
  type ScriptedStream,
  legacyScript,
  modernScript,
  openStream,
  progressFor,
  resultText,
  startScriptedServer,
} from '../peers/scripted-server.js';
import { type Era, type WireSession, openWireSession } from '../peers/wire-client.js';

const CHANGED = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };

/** The upstream's side of one call. */
interface RunningCall {
  progress(value: number): void;
  finish(): void;
}

/** A gateway in front of an upstream whose calls and GET stream are driven from the test. */
async function started(era: Era) {
  const calls = new Map<string, RunningCall>();
  const streams: ScriptedStream[] = [];
  const script: Script = (request, res) => {
    const stream = openStream(res);
    calls.set(request.message.params.arguments.label, driven(request, stream));
  };
  const upstream = closing(
    await startScriptedServer(
      era === 'modern'
        ? modernScript(script, { tools: [] })
        : legacyScript(script, { get: (_, res) => void streams.push(openStream(res)) }),
    ),
  );
  const gateway = closing(await startGateway(upstream.url));
  const call = async (session: WireSession, label: string): Promise<[RawResponse, RunningCall]> => {
    const response = await session.request(label, 'tools/call', {
      name: 't',
      arguments: { label },
      _meta: { progressToken: label },
    });
    const running = calls.get(label);
    if (running === undefined) throw new Error(`the upstream never saw ${label}`);
    return [response, running];
  };
  return { gateway, streams, call };
}

function driven(request: SeenRequest, stream: ScriptedStream): RunningCall {
  return {
    progress: (value) => stream.send(progressFor(request, value)),
    finish: () => {
      const { label } = request.message.params.arguments;
      stream.send(resultText(request, { resultType: 'complete', content: [{ type: 'text', text: label }] }));
      stream.end();
    },
  };
}

/** What a stream carried, in short: progress as `token:value`, a response as `id=text`. */
function summary(response: RawResponse): string[] {
  return response.messages.map(({ method, params, id, result, error }) =>
    method === 'notifications/progress'
      ? `${params.progressToken}:${params.progress}`
      : (method ?? `${id}=${result?.content[0].text ?? error.code}`),
  );
}

describe.each(ERAS)('C8 replay keeps to its stream, %s upstream', (era) => {
  /** P1 and P2 with four progress events each, interleaved; P1 was dropped after its second. */
  async function droppedAfterTwo() {
    const { gateway, streams, call } = await started(era);
    const session = await openWireSession(gateway.url);
    const standalone = closing(await session.get());
    if (era === 'legacy') await expect.poll(() => streams.length).toBe(1);
    const changed = (): void => streams[0]?.send(CHANGED);
    const [p1, up1] = await call(session, 'p1');
    const [p2, up2] = await call(session, 'p2');
    for (const value of [1, 2]) {
      up1.progress(value);
      changed();
      up2.progress(value);
    }
    await p1.next();
    const lastSeen = await p1.next();
    p1.close();
    return { gateway, session, standalone, changed, call, p1, p2, up1, up2, id: String(lastSeen.id) };
  }

  test('C8 the rest of P1 and its result, and nothing of P2 or of the GET stream', async () => {
    const { session, standalone, changed, p1, p2, up1, up2, id } = await droppedAfterTwo();
    for (const value of [3, 4]) {
      up1.progress(value);
      changed();
      up2.progress(value);
    }
    up2.finish();
    up1.finish();
    await p2.text();
    const resumed = await session.get(id);
    expect(resumed.status).toBe(200);
    await resumed.text();
    expect(summary(p1)).toEqual(['p1:1', 'p1:2']);
    expect(summary(resumed)).toEqual(['p1:3', 'p1:4', 'p1=p1']);
    expect(summary(p2)).toEqual(['p2:1', 'p2:2', 'p2:3', 'p2:4', 'p2=p2']);
    if (era === 'legacy') {
      for (let i = 0; i < 4; i++) await standalone.next();
      expect(new Set(summary(standalone))).toEqual(new Set(['notifications/tools/list_changed']));
    } else {
      expect(summary(standalone)).toEqual([]);
    }
  });

  test('C8 resumed while it runs: the missed events, then the live ones, each once', async () => {
    const { session, up1, id } = await droppedAfterTwo();
    up1.progress(3);
    const resumed = await session.get(id);
    expect((await resumed.nextMessage()).params.progress).toBe(3);
    up1.progress(4);
    expect((await resumed.nextMessage()).params.progress).toBe(4);
    up1.finish();
    await resumed.text();
    expect(summary(resumed)).toEqual(['p1:3', 'p1:4', 'p1=p1']);
    const ids = resumed.blocks.flatMap((block) => (block.data === undefined ? [] : [block.id]));
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('C8 resumed twice from the same place: the same again; from the end: nothing again', async () => {
    const { session, p2, up1, up2, id } = await droppedAfterTwo();
    up1.progress(3);
    up1.finish();
    up2.finish();
    await p2.text();
    const first = await session.get(id);
    await first.text();
    const second = await session.get(id);
    await second.text();
    expect(summary(first)).toEqual(['p1:3', 'p1=p1']);
    expect(summary(second)).toEqual(summary(first));
    const last = first.blocks.findLast((block) => block.data !== undefined)?.id;
    const nothing = await session.get(String(last));
    await nothing.text();
    expect(nothing.status).toBe(200);
    expect(summary(nothing)).toEqual([]);
  });

  test('C8 a reconnect at the very tick of the result loses and doubles nothing', async () => {
    const { session, up1, id } = await droppedAfterTwo();
    const resuming = session.get(id);
    up1.progress(3);
    up1.finish();
    const resumed = await resuming;
    await resumed.text();
    expect(summary(resumed)).toEqual(['p1:3', 'p1=p1']);
  });

  test('C8 the id in session S2: 400, nothing replayed, and S1 can still resume', async () => {
    const { gateway, session, up1, id } = await droppedAfterTwo();
    up1.finish();
    const other = await openWireSession(gateway.url);
    const refused = await other.get(id);
    expect(refused.status).toBe(400);
    expect(await refused.rpc()).toMatchObject({ jsonrpc: '2.0', error: { code: -32600 } });
    expect(refused.received).not.toContain('p1');
    const resumed = await session.get(id);
    await resumed.text();
    expect(summary(resumed)).toEqual(['p1=p1']);
  });

  test('C8 one character changed, anywhere in the id: 400, nothing replayed', async () => {
    const { session, up1, id } = await droppedAfterTwo();
    up1.finish();
    for (let at = 0; at < id.length; at++) {
      const changed = id.slice(0, at) + (id.charAt(at) === 'a' ? 'b' : 'a') + id.slice(at + 1);
      const refused = await session.get(changed);
      expect([at, refused.status]).toEqual([at, 400]);
      expect(refused.isStream).toBe(false);
      expect((await refused.rpc()).error.code).toBe(-32600);
    }
  });

  test.each(['0', '1', '-1', 'null', '..', 'a.b.c.d', 'x'.repeat(300), '%00', '42.7'])(
    'C8 the id %j, which was never given out: 400',
    async (id) => {
      const { gateway } = await started(era);
      const session = await openWireSession(gateway.url);
      const refused = await session.get(id);
      expect(refused.status).toBe(400);
      expect((await refused.rpc()).error.code).toBe(-32600);
    },
  );

  test('C8 an id of another run of the gateway: 400', async () => {
    const { id } = await droppedAfterTwo();
    const { gateway } = await started(era);
    const session = await openWireSession(gateway.url);
    expect((await session.get(id)).status).toBe(400);
  });
});

test('C8 a GET stream resumes from its own place, with nothing of the calls', async () => {
  const { gateway, streams, call } = await started('legacy');
  const session = await openWireSession(gateway.url);
  const standalone = await session.get();
  await expect.poll(() => streams.length).toBe(1);
  streams[0]?.send(CHANGED);
  const { id } = await standalone.next();
  standalone.close();
  await standalone.ended;
  streams[0]?.send({ jsonrpc: '2.0', method: 'notifications/prompts/list_changed' });
  const [, running] = await call(session, 'p1');
  running.progress(1);
  running.finish();
  const resumed = closing(await session.get(id));
  expect((await resumed.nextMessage()).method).toBe('notifications/prompts/list_changed');
  streams[0]?.send({ jsonrpc: '2.0', method: 'notifications/resources/list_changed' });
  expect((await resumed.nextMessage()).method).toBe('notifications/resources/list_changed');
  expect(resumed.messages).toHaveLength(2);
});

import { describe, expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import {
  type ScriptedStream,
  answer,
  answerResult,
  legacyScript,
  openStream,
  startScriptedServer,
} from '../peers/scripted-server.js';
import { openWireSession } from '../peers/wire-client.js';

const FLOOD = 3000;

/** A legacy upstream that asks without end and never says that it has heard an answer. */
async function flooding() {
  const streams: ScriptedStream[] = [];
  let answers = 0;
  const upstream = closing(
    await startScriptedServer(
      legacyScript(
        (request, res) => {
          if (request.method === 'tools/call') streams.push(openStream(res));
          else answerResult(res, request, { tools: [] });
        },
        {
          get: (_, res) => void streams.push(openStream(res)),
          notification: (request, res) => {
            if (request.method === undefined) answers++;
            else answer(res, 202, '', {});
          },
        },
      ),
    ),
  );
  const gateway = closing(await startGateway(upstream.url));
  const session = await openWireSession(gateway.url, { capabilities: { elicitation: {} } });
  return {
    gateway,
    session,
    answers: () => answers,
    ask: (method: string) => {
      for (let id = 0; id < FLOOD; id++)
        streams[0]?.send({ jsonrpc: '2.0', id, method, params: { message: '?' } });
    },
    streaming: () => expect.poll(() => streams.length).toBe(1),
  };
}

describe.each([
  ['of a call', 100],
  ['outside any call', 1000],
])('an upstream that floods the stream %s', (where, most) => {
  async function flooded(method: string) {
    const world = await flooding();
    const { session } = world;
    const response = closing(
      where === 'of a call' ? await session.request(1, 'tools/call', { name: 't' }) : await session.get(),
    );
    await world.streaming();
    world.ask(method);
    return { ...world, response };
  }

  test('with pings gets no connection for each answer', async () => {
    const { gateway, session, answers } = await flooded('ping');
    await expect.poll(answers).toBeGreaterThanOrEqual(100);
    // Answered behind the whole flood.
    expect((await session.call('tools/list')).message).toHaveProperty('result');
    expect(gateway.activity().upstreamRequests).toBeLessThan(200);
  });

  test('with questions asks the client so many, and no more', async () => {
    const { gateway, response, answers } = await flooded('elicitation/create');
    // What is too much is refused at once.
    await expect.poll(answers).toBeGreaterThanOrEqual(100);
    expect(gateway.activity().questions).toBe(most);
    expect(response.isOver).toBe(false);
  });
});

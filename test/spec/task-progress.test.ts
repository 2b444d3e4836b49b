import { describe, expect, test } from 'vitest';
import { DrivenServer } from '../interaction/driven-server.js';
import { ALL_CAPABILITIES, postLeg } from '../interaction/legs.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { openWireSession } from '../peers/wire-client.js';

const progress = (progressToken: unknown, value: number): object => ({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken, progress: value },
});

/** A gateway in front of a legacy server driven from the test. */
async function started() {
  const upstream = closing(await DrivenServer.start());
  return { upstream, url: closing(await startGateway(upstream.url)).url };
}

// @see /specification/2025-11-25/basic/utilities/progress#behavior-requirements
describe('X22, X27 progress on other streams than that of its request', () => {
  test('X27 the token of a task is good for as long as the task, on every stream', async () => {
    const { upstream, url } = await started();
    const session = await openWireSession(url);
    const standalone = await session.get();
    await upstream.until(() => upstream.streams.length > 0);
    const params = { name: 'x', arguments: {}, task: { ttl: 60_000 }, _meta: { progressToken: 'mine' } };
    const creating = await session.request(1, 'tools/call', params);
    const call = await upstream.call();
    const token = call.request.message.params._meta.progressToken as unknown;
    const task = { taskId: 't', status: 'working', createdAt: '', lastUpdatedAt: '', ttl: 60_000 };
    call.stream.send({ jsonrpc: '2.0', id: call.request.message.id, result: { task } });
    call.stream.end();
    expect(await creating.rpc()).toHaveProperty('result.task.taskId', 't');

    upstream.streams[0]?.send(progress('nobody', 7));
    upstream.streams[0]?.send(progress(token, 1));
    expect(await standalone.nextMessage()).toEqual(progress('mine', 1));

    const awaiting = await session.request(2, 'tasks/result', { taskId: 't' });
    const result = await upstream.call(1);
    result.stream.send(progress(token, 2));
    result.finish();
    await awaiting.text();
    expect(awaiting.messages[0]).toEqual(progress('mine', 2));
  });

  test('X22 what a server says of a call on its standalone stream comes on the stream of the call: legacy', async () => {
    const { upstream, url } = await started();
    const session = await openWireSession(url);
    await session.get();
    await upstream.until(() => upstream.streams.length > 0);
    const params = { name: 'x', arguments: {}, _meta: { progressToken: 0 } };
    const response = await session.request(1, 'tools/call', params);
    const call = await upstream.call();
    upstream.streams[0]?.send(progress(call.request.message.params._meta.progressToken, 3));
    expect(await response.nextMessage()).toEqual(progress(0, 3));
    call.finish();
    expect(await response.nextMessage()).toHaveProperty('result');
  });

  test('X22 what a server says of a call on its standalone stream comes on the stream of the call: modern', async () => {
    const { upstream, url } = await started();
    const opening = postLeg(url, { token: 0, capabilities: ALL_CAPABILITIES });
    const call = await upstream.call();
    await upstream.until(() => upstream.streams.length > 0);
    upstream.streams[0]?.send(progress(call.request.message.params._meta.progressToken, 3));
    const response = await opening;
    expect(await response.nextMessage()).toEqual(progress(0, 3));
    call.finish();
    expect(await response.nextMessage()).toHaveProperty('result');
  });
});

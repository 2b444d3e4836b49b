import { expect, test, describe } from 'vitest';
import { ERAS } from '../peers/cells.js';
import { callParams, startUpstream, summary } from '../peers/driven-upstream.js';
import { startGateway } from '../peers/gateway.js';
import { modernText, openWireClient, postModern } from '../peers/wire-client.js';
import { start } from '../unit/cli/child.js';

const SHUTTING_DOWN = -31012;

describe.each(ERAS)('the gateway stops while a modern client waits, %s upstream', (era) => {
  async function waiting() {
    const upstream = await startUpstream(era);
    const gateway = await startGateway(upstream.server.url);
    const { _meta, ...params } = callParams('call');
    const response = postModern(gateway.url, modernText('call', 'tools/call', params, _meta));
    await upstream.seen('call');
    return { upstream, gateway, response };
  }

  /** The upstream learns that nobody waits, in the way of its era. */
  async function isTold(upstream: Awaited<ReturnType<typeof startUpstream>>): Promise<void> {
    const { server } = upstream;
    if (era === 'legacy') await expect.poll(() => server.cancelled.length).toBe(1);
    else await expect.poll(() => server.requestsFor('tools/call')[0]?.ended).toBe('dropped');
  }

  test('X29 before anything was sent: 503 and an error under its id', async () => {
    const { upstream, gateway, response } = await waiting();
    await gateway.close();
    const answer = await response;
    expect(answer.status).toBe(503);
    expect(answer.headers.connection).toBe('close');
    expect(await answer.rpc()).toMatchObject({ id: 'call', error: { code: SHUTTING_DOWN } });
    await isTold(upstream);
  });

  test('X29 on a stream: an error under its id, and a proper end', async () => {
    const { upstream, gateway, response } = await waiting();
    upstream.progress('call', 1);
    const stream = await response;
    await stream.next();
    await gateway.close();
    expect(await stream.ended).toBe('finished');
    expect(summary(stream)).toEqual(['call:1', `call=${SHUTTING_DOWN}`]);
    await isTold(upstream);
  });
});

describe.each(ERAS)('SIGTERM while a %s client waits', (era) => {
  async function serving() {
    const upstream = await startUpstream('legacy');
    const child = start('src/cli/main.ts', ['serve', '--upstream', upstream.server.url, '--listen', '0']);
    await child.printed(/is ready/);
    const [url = ''] = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(child.out) ?? [];
    const client = await openWireClient(era, url);
    const { _meta, ...params } = callParams('call');
    const answer = client.call('tools/call', params, { meta: _meta });
    await upstream.seen('call');
    child.process.kill('SIGTERM');
    await child.printed(/closing/);
    return { upstream, child, answer };
  }

  test('what is in progress comes to its end within timeouts.shutdownMs', async () => {
    const { upstream, child, answer } = await serving();
    upstream.progress('call', 1);
    upstream.finish('call');
    expect((await answer).message.result.content[0].text).toBe('call');
    expect(await child.ended).toBe(0);
  });
});

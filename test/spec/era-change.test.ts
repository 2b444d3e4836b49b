import { describe, expect, test } from 'vitest';
import { ERAS, startPeer } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import type { PeerServer } from '../peers/peer-server.js';
import { type Era, openWireClient } from '../peers/wire-client.js';

const OTHER: Record<Era, Era> = { legacy: 'modern', modern: 'legacy' };

/** A server of one era, and a way to put one of the other era in its place, as an update does. */
async function replaceable(era: Era): Promise<{ url: string; replace(): Promise<PeerServer> }> {
  const first = await startPeer(era);
  const { url, port } = first;
  return {
    url,
    replace: async () => {
      await first.close();
      return closing(await startPeer(OTHER[era], { port }));
    },
  };
}

const text = (answer: { message: any }): string => answer.message.result.content[0].text;

describe.each(ERAS)('an upstream that was %s and is updated', (era) => {
  test('a modern client goes on with its next call', async () => {
    const { url, replace } = await replaceable(era);
    const gateway = closing(await startGateway(url));
    const client = await openWireClient('modern', gateway.url);
    expect(text(await client.call('tools/call', { name: 'test_simple_text' }))).toContain('simple text');
    expect(gateway.verdict('default')?.era).toBe(era);
    const upstream = await replace();
    const answer = await client.call('tools/call', { name: 'test_simple_text' });
    expect([answer.status, text(answer)]).toEqual([200, 'This is a simple text response for testing.']);
    expect(gateway.verdict('default')?.era).toBe(OTHER[era]);
    expect(upstream.log.runs).toHaveLength(1);
  });

  test('a legacy client goes on, at the latest in a new session', async () => {
    const { url, replace } = await replaceable(era);
    const gateway = closing(await startGateway(url));
    const client = await openWireClient('legacy', gateway.url);
    expect(text(await client.call('tools/call', { name: 'test_simple_text' }))).toContain('simple text');
    const upstream = await replace();
    let answer = await client.call('tools/call', { name: 'test_simple_text' });
    if (answer.status === 404) {
      const again = await openWireClient('legacy', gateway.url);
      answer = await again.call('tools/call', { name: 'test_simple_text' });
    }
    expect([answer.status, text(answer)]).toEqual([200, 'This is a simple text response for testing.']);
    expect(gateway.verdict('default')?.era).toBe(OTHER[era]);
    expect(upstream.log.runs).toHaveLength(1);
  });

  test('clients that come later are served by what is there now', async () => {
    const { url, replace } = await replaceable(era);
    const gateway = closing(await startGateway(url));
    for (const clientEra of ERAS)
      await openWireClient(clientEra, gateway.url).then((c) => c.call('prompts/list'));
    await replace();
    for (const clientEra of ERAS) {
      const client = await openWireClient(clientEra, gateway.url);
      expect((await client.call('prompts/list')).message.result.prompts).not.toEqual([]);
    }
    expect(gateway.verdict('default')?.era).toBe(OTHER[era]);
  });
});

describe.each(ERAS)('a pinned era, %s', (era) => {
  test.each(ERAS)('a %s client is served without a probe', async (clientEra) => {
    const upstream = closing(await startPeer(era));
    const gateway = closing(await startGateway(upstream.url, {}, { era }));
    const client = await openWireClient(clientEra, gateway.url);
    expect(text(await client.call('tools/call', { name: 'test_simple_text' }))).toContain('simple text');
    if (era === 'legacy') expect(upstream.requestsFor('server/discover')).toEqual([]);
    expect(upstream.requestsFor('initialize').length).toBe(era === 'legacy' ? 1 : 0);
  });

  test.each(ERAS)(
    'a %s client of an upstream of the other era gets an error, not a switch',
    async (clientEra) => {
      const upstream = closing(await startPeer(OTHER[era]));
      const gateway = closing(await startGateway(upstream.url, {}, { era }));
      const outcome = await openWireClient(clientEra, gateway.url)
        .then((client) => client.call('prompts/list'))
        .then(
          ({ message }) => (message.error === undefined ? 'served' : 'error'),
          // A legacy client does not even get a session.
          () => 'refused',
        );
      expect(outcome).toBe(clientEra === 'legacy' ? 'refused' : 'error');
      expect(gateway.verdict('default')?.era).toBe(era);
    },
  );
});

describe.each(ERAS)('closing with a grace, %s upstream', (era) => {
  test.each(ERAS)('a call of a %s client that is running is answered', async (clientEra) => {
    const upstream = closing(await startPeer(era));
    const gateway = await startGateway(upstream.url);
    const client = await openWireClient(clientEra, gateway.url);
    const params = { name: 'probe_slow', arguments: { ms: 200, tickMs: 20 } };
    const call = await client.request(1, 'tools/call', params, { meta: { progressToken: 1 } });
    await call.next();
    const closed = gateway.close({ graceMs: 5000 });
    expect((await call.rpc()).result.content[0].text).toContain('done');
    await closed;
  });
});

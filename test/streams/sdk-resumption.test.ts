import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, test } from 'vitest';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { connectLegacyClient } from '../peers/legacy-client.js';
import { startLegacyServer } from '../peers/legacy-server.js';
import { startModernServer } from '../peers/modern-server.js';

const UPSTREAMS = [
  { name: 'legacy upstream with an event store', start: () => startLegacyServer() },
  { name: 'legacy upstream without one', start: () => startLegacyServer({ resumable: false }) },
  { name: 'modern upstream', start: () => startModernServer() },
] as const;

describe.each(UPSTREAMS)('X26 SDK v1 client, $name', ({ start }) => {
  test('X26 a call resumed by resumptionToken in a new client that never initialized: every tick once', async () => {
    const upstream = closing(await start());
    const gateway = closing(await startGateway(upstream.url));
    const { client, transport } = await connectLegacyClient(gateway.url);
    let token: string | undefined;
    const ticks: number[] = [];
    const params = { name: 'probe_slow', arguments: { ms: 1500, tickMs: 50 } };
    const half = new Promise<void>((resolve) => {
      void client
        .request({ method: 'tools/call', params }, CallToolResultSchema, {
          onprogress: ({ progress }) => {
            ticks.push(progress);
            if (progress === 8) resolve();
          },
          onresumptiontoken: (next) => (token = next),
        })
        .catch(() => undefined);
    });
    await half;
    const { sessionId, protocolVersion } = transport;
    // As a process that dies does: no DELETE, nothing said.
    await client.close();
    expect(token).toBeDefined();

    const again = new Client({ name: 'again', version: '1' });
    const resumed = new StreamableHTTPClientTransport(new URL(gateway.url), {
      ...(sessionId !== undefined && { sessionId }),
    });
    // The progress token was the first client's, so the SDK itself would drop what comes under it.
    resumed.onmessage = (message: any) => {
      if (message.method === 'notifications/progress') ticks.push(message.params.progress);
    };
    // With a session id the SDK reconnects without initialize.
    await again.connect(resumed);
    if (protocolVersion !== undefined) resumed.setProtocolVersion(protocolVersion);
    closing(again);
    const seen = ticks.length;
    const result = await again.request({ method: 'tools/call', params }, CallToolResultSchema, {
      ...(token !== undefined && { resumptionToken: token }),
      onresumptiontoken: (next) => (token = next),
    });
    expect(result.content).toEqual([{ type: 'text', text: 'done  after 30 ticks' }]);
    expect(ticks.length).toBeGreaterThan(seen);
    expect(ticks).toEqual(Array.from({ length: 30 }, (_, i) => i + 1));
    expect(upstream.log.runs).toHaveLength(1);
    expect(upstream.requestsFor('initialize').length).toBeLessThanOrEqual(1);
  });

  test('X26 a connection that breaks in mid-call is resumed by the SDK itself', async () => {
    const upstream = closing(await start());
    // The gateway closes the connection every 200 ms; the SDK polls.
    const polling = { closeAfterMs: 200, retryMs: 50 };
    const gateway = closing(await startGateway(upstream.url, { polling }));
    const legacy = closing(await connectLegacyClient(gateway.url));
    const ticks: number[] = [];
    const result = await legacy.client.callTool(
      { name: 'probe_slow', arguments: { ms: 1500, tickMs: 50 } },
      undefined,
      { onprogress: ({ progress }) => void ticks.push(progress) },
    );
    expect(result.content).toEqual([{ type: 'text', text: 'done  after 30 ticks' }]);
    expect(ticks).toEqual(Array.from({ length: 30 }, (_, i) => i + 1));
    expect(upstream.log.runs).toHaveLength(1);
  });
});

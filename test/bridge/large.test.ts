import { describe, expect, test } from 'vitest';
import { CELLS, startPeer } from '../peers/cells.js';
import { closing } from '../peers/closing.js';
import { startGateway } from '../peers/gateway.js';
import { connectSdkClient } from './sdk-client.js';

describe.each(CELLS)('$cell', ({ client, upstream: era }) => {
  // Around the bytes that may wait for a slow reader, and beyond those kept for a session.
  test.each([(1 << 20) + 1, 5 << 20])('a result of %i bytes', async (bytes) => {
    const upstream = closing(await startPeer(era));
    const gateway = closing(await startGateway(upstream.url));
    const sdk = closing(await connectSdkClient(client, gateway.url));
    const { content } = await sdk.callTool('probe_big', { bytes });
    expect(content[0].text.length).toBe(bytes);
    expect(/^x+$/.test(content[0].text)).toBe(true);
  });
});

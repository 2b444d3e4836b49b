/**
 * The command line as a process of its own, around a gateway that only listens: signals, exit codes and a port
 * in use can be tried for real without the real gateway. STUB_CLOSE=hang makes it never close.
 */
import { createServer } from 'node:http';
import { run } from '../../../src/cli/program.js';
import { firstStopSignal } from '../../../src/cli/stop-signal.js';
import type { GatewayModule } from '../../../src/cli/terminal.js';

const gateway: GatewayModule = {
  async createGateway({ listen }) {
    const server = createServer((_, response) => response.end('ok'));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(listen.port, listen.host, resolve);
    });
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    return {
      url: `http://${listen.host}:${port}`,
      close: () =>
        process.env.STUB_CLOSE === 'hang'
          ? new Promise(() => undefined)
          : new Promise((resolve) => {
              server.closeAllConnections();
              server.close(() => {
                process.stderr.write('gateway closed\n');
                resolve();
              });
            }),
    };
  },
  startDemoUpstreams: async () => ({
    legacy: 'http://127.0.0.1:1/',
    modern: 'http://127.0.0.1:2/',
    close: async () => void process.stderr.write('demo closed\n'),
  }),
  inspectUpstream: async ({ url }) => ({
    url,
    era: url.includes(':1/') ? 'legacy' : 'modern',
    evidence: [],
    versions: [url.includes(':1/') ? '2025-11-25' : '2026-07-28'],
  }),
};

process.exitCode = await run(process.argv.slice(2), {
  environment: process.env,
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  loadGateway: () => Promise.resolve(gateway),
  stopRequested: firstStopSignal,
});

import { startGateway } from '../peers/gateway.js';
import { runAsCommand } from './client-command.js';
import { playLegacyScenario } from './everything-client-legacy.js';
import { playModernScenario } from './everything-client-modern.js';

/**
 * The client command of the through-gateway cells: `client-through-gateway.ts <era> <url of the suite's mock>`.
 * To the suite, the gateway and the client behind it are one client.
 */
runAsCommand(async (mockUrl, [era]) => {
  const gateway = await startGateway(mockUrl);
  await (era === 'legacy' ? playLegacyScenario(gateway.url) : playModernScenario(gateway.url));
  await gateway.close();
});

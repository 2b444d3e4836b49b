/** A gateway in a process of its own, for tests that kill it: `gateway-child.ts CONFIG`, the configuration as JSON. */
import { createGateway } from '../../src/gateway.js';

const gateway = await createGateway(JSON.parse(process.argv[2] ?? '{}'));
process.stdout.write(`ready ${gateway.url}\n`);
process.once('SIGTERM', () => void gateway.close().then(() => process.exit(0)));

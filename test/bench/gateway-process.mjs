/** The gateway as it is shipped, with everything at its defaults. */
import { createGateway } from '../../dist/src/gateway.js';
import { obey } from './child.mjs';

obey({
  start: async ({ legacy, modern }) => {
    const gateway = await createGateway({
      listen: { host: '127.0.0.1', port: 0 },
      logging: { level: 'info' },
      upstreams: { legacy: { url: legacy }, modern: { url: modern } },
    });
    return gateway.port;
  },
});

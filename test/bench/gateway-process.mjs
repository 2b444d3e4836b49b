/** The gateway as it is shipped, with everything at its defaults but what is asked for. */
import { createGateway } from '../../dist/src/gateway.js';
import { obey } from './child.mjs';

let gateway;

obey({
  start: async ({ legacy, modern, maxCalls, ...settings }) => {
    const more = maxCalls === undefined ? {} : { maxCalls };
    gateway = await createGateway({
      listen: { host: '127.0.0.1', port: 0 },
      logging: { level: 'info' },
      upstreams: { legacy: { url: legacy, ...more }, modern: { url: modern, ...more } },
      ...settings,
    });
    return gateway.port;
  },
  activity: () => gateway.activity(),
  /** Ends as on SIGTERM: what a store keeps stays in it. */
  close: () => gateway.close(),
});

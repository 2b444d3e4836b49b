/**
 * A gateway in a process of its own whose clock can be set: `gateway-child.mjs CONFIG`, the configuration as JSON. It is the
 * built one, because that starts faster than the sources.
 */
import { createGateway } from '../../../dist/src/gateway.js';

const RealDate = globalThis.Date;
let offset = 0;
globalThis.Date = class extends RealDate {
  constructor(...values) {
    if (values.length === 0) super(RealDate.now() + offset);
    else super(...values);
  }

  static now() {
    return RealDate.now() + offset;
  }
};

process.on('message', ({ clock }) => {
  offset = clock;
  process.send?.({ clock });
});
process.on('disconnect', () => process.exit(0));
const gateway = await createGateway(JSON.parse(process.argv[2] ?? '{}'));
process.send?.({ url: gateway.url });

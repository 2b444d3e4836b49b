// Loaded with `node --import` into the conformance suite, for two things it does not offer itself:
// - its bundle imports `globSync` from `fs`, which Node 20 lacks, for a command that is not used here;
// - its mock servers listen on every interface.
// The file is its own module hook: Node evaluates it a second time on the hooks thread.
import { register } from 'node:module';
import net from 'node:net';
import { isMainThread } from 'node:worker_threads';

/** Module hook: the suite alone gets an `fs` that has the missing export. */
export async function resolve(specifier, context, nextResolve) {
  const isSuite = context.parentURL?.includes('/@modelcontextprotocol/conformance/');
  if (specifier === 'fs' && isSuite) {
    return { url: new URL('./fs-with-glob.mjs', import.meta.url).href, shortCircuit: true };
  }
  return nextResolve(specifier, context);
}

/**
 * The suite reads the port right after `listen(0)`, so the bind must stay synchronous. `listen` with a host never
 * is: it looks even a literal address up. The step below it takes the address and binds at once.
 */
function bindToLoopback() {
  const bind = net.Server.prototype._listen2;
  if (typeof bind !== 'function')
    throw new Error('This Node cannot keep the suite on the loopback interface');
  net.Server.prototype._listen2 = function (address, port, addressType, ...rest) {
    if (address) return bind.call(this, address, port, addressType, ...rest);
    return bind.call(this, '127.0.0.1', port, 4, ...rest);
  };
}

if (isMainThread) {
  register(import.meta.url);
  bindToLoopback();
}

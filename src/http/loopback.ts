import { BlockList, isIP } from 'node:net';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');
loopback.addSubnet('::ffff:127.0.0.0', 104, 'ipv6');

/** The names under which a browser on the same machine reaches a loopback listener. */
const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Whether a listen host can be reached from this machine only. Names other than `localhost` are not resolved and
 * count as reachable from outside.
 */
export function isLoopbackAddress(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return host.toLowerCase() === 'localhost';
  return loopback.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

/** Whether a host as it stands in a URL, lower case and IPv6 in brackets, is one of the loopback names. */
export function isLoopbackName(name: string): boolean {
  return LOOPBACK_NAMES.has(name);
}

import { BlockList, isIP } from 'node:net';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');
loopback.addSubnet('::ffff:127.0.0.0', 104, 'ipv6');

/**
 * Whether a listen host can be reached from this machine only. Names other than `localhost` and its subdomains
 * (RFC 6761 section 6.3) are not resolved and count as reachable from outside.
 */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return /(?:^|\.)localhost\.?$/i.test(host);
  return loopback.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

import { isIP } from 'node:net';

/** Where the gateway accepts connections. Port 0 lets the system choose one. */
export interface ListenAddress {
  host: string;
  port: number;
}

export const LISTEN_FORMS = 'host:port, :port, [ipv6]:port or a port from 0 to 65535';

export const DEFAULT_LISTEN: ListenAddress = { host: '127.0.0.1', port: 8808 };

/**
 * Reads `host:port`, `[ipv6]:port`, `:port` (every IPv4 interface, as elsewhere) or a bare port (loopback).
 * Returns undefined for anything else, an IPv6 address without brackets included: its last group would be
 * taken for the port.
 */
export function parseListen(text: string): ListenAddress | undefined {
  const match = /^(?:(?:\[([0-9a-f:.%a-z]+)\]|([^\s:[\]/@?#]*)):)?([0-9]{1,5})$/i.exec(text.trim());
  if (match === null) return undefined;
  const [, ipv6, name, digits] = match;
  const port = Number(digits);
  if (port > 65_535 || (ipv6 !== undefined && isIP(ipv6) !== 6)) return undefined;
  const host = ipv6 ?? (name === undefined ? DEFAULT_LISTEN.host : name === '' ? '0.0.0.0' : name);
  return { host, port };
}

/** Prints an address as a URL authority, IPv6 in brackets. */
export function formatListen(address: ListenAddress): string {
  return `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`;
}

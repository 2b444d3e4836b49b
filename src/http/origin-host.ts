import { isIPv6 } from 'node:net';
import { isLoopbackAddress, isLoopbackName } from './loopback.js';
import type { HttpOptions } from './options.js';
import { refusal } from './refusal.js';

type Listening = Pick<HttpOptions, 'listen' | 'allowedHosts' | 'allowedOrigins'>;

/** A host with an optional port, as in the `Host` header and in URLs (RFC 9110 section 7.2). */
const AUTHORITY = /^(\[[0-9a-f:.]+\]|[^\s:/@?#,[\]]+)(?::(\d{0,5}))?$/i;

/** An origin as browsers serialise it; schemes of desktop shells and extensions included. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/(?:\[[0-9a-f:.]+\]|[^\s:/@?#,[\]]+)(?::\d{1,5})?$/i;

/**
 * Makes the check of the `Host` header: a page whose name was rebound to this address sends its own name, so only
 * names that are known to be this gateway's are served.
 * @returns a function that throws 421 for a foreign name, 400 for none or several
 */
export function createHostCheck(options: Listening): (hosts: readonly string[]) => void {
  const any = options.allowedHosts.includes('*');
  const local = isLoopbackAddress(options.listen.host);
  const allowed = new Set([options.listen.host, ...options.allowedHosts].map(canonicalHost));
  return (hosts) => {
    const [host, ...others] = hosts;
    if (host === undefined) throw refusal(400, 'The Host header is missing.');
    if (others.length > 0) throw refusal(400, 'The Host header was sent more than once.');
    const match = AUTHORITY.exec(host);
    const name = match?.[1]?.toLowerCase();
    if (name === undefined) throw refusal(400, 'The Host header is not a host name with an optional port.');
    if (any || allowed.has(name) || allowed.has(host.toLowerCase()) || (local && isLoopbackName(name)))
      return;
    throw refusal(
      421,
      `The Host header names ${quoted(host)}, which is not a name of this gateway. ` +
        'If it is one, add it to the setting allowedHosts.',
    );
  };
}

/**
 * Makes the check of the `Origin` header that the transport asks of servers.
 * @see /specification/2026-07-28/basic/transports/streamable-http#security-endpoint
 * @returns a function that throws 403 for an origin that is not allowed; absent is fine, as only browsers send it
 */
export function createOriginCheck(options: Listening): (origin: string | undefined) => void {
  const any = options.allowedOrigins.includes('*');
  const local = isLoopbackAddress(options.listen.host);
  const allowed = new Set(options.allowedOrigins.map(canonicalOrigin));
  return (origin) => {
    if (origin === undefined) return;
    // "null" has no such form: every sandboxed frame and local file sends it, and allowing one would allow all.
    if (ORIGIN.test(origin)) {
      if (any || allowed.has(canonicalOrigin(origin)) || (local && isLoopbackOrigin(origin))) return;
    }
    throw refusal(
      403,
      `The Origin header names ${quoted(origin)}, from which this gateway takes no requests. ` +
        'To allow a web application, add its origin to the setting allowedOrigins.',
    );
  };
}

function canonicalHost(host: string): string {
  return (isIPv6(host) ? `[${host}]` : host).toLowerCase();
}

/** Lower case, no default port, no trailing slash: what a browser would send for a configured origin. */
function canonicalOrigin(origin: string): string {
  if (/^https?:/i.test(origin) && URL.canParse(origin)) return new URL(origin).origin;
  return origin.toLowerCase().replace(/\/$/, '');
}

function isLoopbackOrigin(origin: string): boolean {
  return /^https?:/i.test(origin) && URL.canParse(origin) && isLoopbackName(new URL(origin).hostname);
}

function quoted(value: string): string {
  return JSON.stringify(value.length <= 100 ? value : `${value.slice(0, 99)}…`);
}

import type { GatewayConfig, UpstreamConfig } from './config.js';

const REDACTED = '[redacted]';

/** A copy for people to look at: no credential, header value or secret part of a URL is left in it. */
export function redactConfig(config: GatewayConfig): GatewayConfig {
  return {
    ...config,
    ...(config.publicUrl === undefined ? {} : { publicUrl: redactUrl(config.publicUrl) }),
    ...(config.cluster === undefined
      ? {}
      : { cluster: { ...config.cluster, url: redactUrl(config.cluster.url) } }),
    store:
      config.store.kind === 'redis' ? { ...config.store, url: redactUrl(config.store.url) } : config.store,
    upstreams: Object.fromEntries(
      Object.entries(config.upstreams).map(([name, upstream]) => [name, redactUpstream(upstream)]),
    ),
  };
}

/**
 * Hides what in a URL may be a secret: user name and password, values in the query, the fragment, and path
 * segments that look random, since some hosted servers put the credential there.
 */
export function redactUrl(text: string): string {
  if (!URL.canParse(text)) return REDACTED;
  const url = new URL(text);
  const credentials = url.username === '' && url.password === '' ? '' : `${REDACTED}@`;
  const path = url.pathname.split('/').map((segment) => (looksRandom(segment) ? REDACTED : segment));
  const query = url.search === '' ? '' : `?${url.search.slice(1).split('&').map(redactPair).join('&')}`;
  const fragment = url.hash === '' ? '' : `#${REDACTED}`;
  return `${url.protocol}//${credentials}${url.host}${path.join('/')}${query}${fragment}`;
}

function redactPair(pair: string): string {
  const equals = pair.indexOf('=');
  return equals < 0 ? REDACTED : `${pair.slice(0, equals)}=${REDACTED}`;
}

/** A UUID, or 16 letters and digits in a row with both among them. */
function looksRandom(segment: string): boolean {
  if (/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i.test(segment)) return true;
  return (segment.match(/[0-9a-z]{16,}/gi) ?? []).some((run) => /\d/.test(run) && /[a-z]/i.test(run));
}

function redactUpstream(upstream: UpstreamConfig): UpstreamConfig {
  const { authorization, headers, tls } = upstream;
  return {
    ...upstream,
    url: redactUrl(upstream.url),
    authorization: authorization.mode === 'static' ? { ...authorization, header: REDACTED } : authorization,
    headers: Object.fromEntries(Object.keys(headers).map((name) => [name, REDACTED])),
    // Public in itself, but a file that holds the certificate may hold its private key too.
    tls: tls.ca === undefined ? tls : { ...tls, ca: `[${tls.ca.length} characters of PEM]` },
  };
}

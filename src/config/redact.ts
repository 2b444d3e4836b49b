import type { GatewayConfig, UpstreamConfig } from './config.js';

const REDACTED = '[redacted]';

/** A copy for people to look at: no credential, header value or secret part of a URL is left in it. */
export function redactConfig(config: GatewayConfig): GatewayConfig {
  return {
    ...config,
    ...(config.publicUrl === undefined ? {} : { publicUrl: redactUrl(config.publicUrl) }),
    upstreams: Object.fromEntries(
      Object.entries(config.upstreams).map(([name, upstream]) => [name, redactUpstream(upstream)]),
    ),
  };
}

/**
 * Hides what in a URL may be a secret: values in the query, and path segments that look random (20 or more
 * characters with letters and digits), since some hosted servers put the credential there.
 */
export function redactUrl(url: string): string {
  const [, start = '', path = '', query = ''] =
    /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)?([^?#]*)(.*)$/is.exec(url) ?? [];
  const segments = path
    .split('/')
    .map((segment) => (/^(?=.*\d)(?=.*[a-z])[\w.~%-]{20,}$/i.test(segment) ? REDACTED : segment));
  return (
    start.replace(/\/\/[^/]*@/, `//${REDACTED}@`) +
    segments.join('/') +
    query.replaceAll(/(^\?|&)([^=&#]*)(=[^&#]*)?/g, (_, mark: string, name: string, value?: string) =>
      value === undefined && name.length < 20
        ? `${mark}${name}`
        : `${mark}${value === undefined ? '' : `${name}=`}${REDACTED}`,
    )
  );
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

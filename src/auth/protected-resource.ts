import { now } from '../clock/clock.js';
import { Draft } from '../jsonrpc/draft.js';
import { JsonScanError, memberOf, scanObjectText } from '../jsonrpc/json-scan.js';
import type { DocumentReply } from '../http/options.js';
import type { UpstreamHttp } from '../upstreams/upstream-http.js';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';
const MAX_BYTES = 64 * 1024;
const TIMEOUT_MS = 5000;
const CACHE_MS = 60_000;

/**
 * The protected resource metadata (RFC 9728) of one upstream, as the gateway serves it (X30).
 *
 * The gateway is no resource server of its own: it passes the upstream's document on, fetched from the configured
 * upstream's origin at its well-known paths only, without redirects and without anybody's credential. Where the gateway
 * stands under a URL of its own the document names that URL, because clients check that it is the one they speak to.
 * @see /specification/2026-07-28/basic/authorization#protected-resource-metadata-discovery-requirements
 */
export class ProtectedResource {
  private cached: { at: number; reply: Promise<DocumentReply> } | undefined;

  /** @param resourceUrl the gateway's own URL for this upstream; undefined when it stands under the upstream's */
  constructor(
    private readonly http: UpstreamHttp,
    private readonly resourceUrl: string | undefined,
  ) {}

  /** The document, or why there is none. Never throws. */
  read(): Promise<DocumentReply> {
    if (this.cached !== undefined && now() - this.cached.at < CACHE_MS) return this.cached.reply;
    const reply = this.fetch();
    const entry = { at: now(), reply };
    this.cached = entry;
    void reply.then(({ status }) => {
      if (status !== 200 && this.cached === entry) this.cached = undefined;
    });
    return reply;
  }

  private async fetch(): Promise<DocumentReply> {
    const { pathname } = new URL(this.http.url);
    const paths = pathname === '/' ? [WELL_KNOWN] : [`${WELL_KNOWN}${pathname}`, WELL_KNOWN];
    for (const path of paths) {
      const document = await this.http.document(path, MAX_BYTES, TIMEOUT_MS);
      if (document?.status !== 200) continue;
      const body = this.underOwnUrl(document.body);
      if (body !== undefined) return { status: 200, body };
    }
    return {
      status: 404,
      body: '{"error":"not_found","error_description":"the upstream has no protected resource metadata"}',
    };
  }

  private underOwnUrl(body: string): string | undefined {
    try {
      const root = scanObjectText(body, {}, 64);
      if (this.resourceUrl === undefined || memberOf(root, 'resource') === undefined) return body;
      const draft = new Draft(body);
      draft.set(root, 'resource', JSON.stringify(this.resourceUrl));
      return draft.print();
    } catch (error) {
      if (error instanceof JsonScanError) return undefined;
      throw error;
    }
  }
}

/** A challenge that sends the client to the gateway for the metadata, where the gateway stands under a URL of its own. */
export function challengeFor(
  challenge: string | readonly string[],
  metadataUrl: string,
): string | readonly string[] {
  if (typeof challenge !== 'string') return challenge.map((one) => challengeFor(one, metadataUrl) as string);
  return challenge.replace(/(\bresource_metadata\s*=\s*)(?:"[^"]*"|[^\s,]+)/gi, `$1"${metadataUrl}"`);
}

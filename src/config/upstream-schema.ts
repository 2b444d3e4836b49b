import { z } from 'zod';
import { httpUrl } from './http-url.js';
import { count, duration } from './quantity.js';
import { isHeaderValue, refusedHeader } from './request-header.js';

const HEADER_VALUE = 'one line of visible characters, as an HTTP header value';

const authorization = z
  .discriminatedUnion('mode', [
    z
      .strictObject({
        mode: z.literal('transparent').describe('Forward the Authorization of each client.'),
      })
      .describe('The client holds a token for this upstream; the gateway forwards it to this upstream only.'),
    z
      .strictObject({
        mode: z.literal('static').describe('Send a credential of the gateway.'),
        header: z
          .string()
          .refine(isHeaderValue, HEADER_VALUE)
          .describe(
            'With `static`: value of the Authorization header sent upstream, such as `Bearer ${UPSTREAM_TOKEN}`.',
          ),
        allowAnonymous: z
          .boolean()
          .default(false)
          .describe(
            'With `static`: lend this credential to everyone who can reach the gateway. Without it, a gateway that listens beyond loopback does not start.',
          ),
      })
      .describe("The upstream gets the gateway's own credential; the client's is never forwarded."),
  ])
  .default({ mode: 'transparent' })
  .describe('Which credential the upstream sees.');

const headerName = z.string().superRefine((name, context) => {
  const reason = refusedHeader(name);
  if (reason !== undefined) context.addIssue({ code: 'custom', message: reason });
});

const headers = z
  .record(headerName, z.string().refine(isHeaderValue, HEADER_VALUE))
  .superRefine((record, context) => {
    const seen = new Set<string>();
    for (const name of Object.keys(record)) {
      if (seen.has(name.toLowerCase())) {
        context.addIssue({ code: 'custom', path: [name], message: 'each header name once' });
      }
      seen.add(name.toLowerCase());
    }
  })
  .default({})
  .describe(
    'Extra headers on every request to this upstream. `Authorization`, `Mcp-*` and those HTTP computes are refused.',
  );

const tls = z
  .strictObject({
    rejectUnauthorized: z
      .boolean()
      .default(true)
      .describe("Check the upstream's certificate. Turn off for experiments only."),
    ca: z
      .string()
      .refine((text) => text.includes('-----BEGIN CERTIFICATE-----'), 'a certificate in PEM form')
      .exactOptional()
      .describe(
        'Certificate authority to trust instead of the built-in ones: PEM text, or in a configuration file the path of a PEM file, relative to that file.',
      ),
  })
  .prefault({})
  .describe('TLS towards the upstream.');

const timeouts = z
  .strictObject({
    callMs: duration().exactOptional().describe('`timeouts.callMs` for this upstream.'),
    callMaxMs: duration().exactOptional().describe('`timeouts.callMaxMs` for this upstream.'),
  })
  .prefault({})
  .describe('How long calls to this upstream may take, where that differs from other upstreams.');

/** One upstream MCP server. */
export const upstreamSchema = z.strictObject({
  url: httpUrl('The MCP endpoint of the upstream, http or https.'),
  era: z
    .enum(['auto', 'legacy', 'modern'])
    .default('auto')
    .describe(
      'Which era the upstream speaks. `auto` asks it once and remembers the answer; the others skip the question.',
    ),
  sessions: z
    .enum(['shared', 'exclusive'])
    .default('shared')
    .describe(
      'Upstream sessions on behalf of clients without sessions: `shared` keeps one per credential and client, so that a stateful server keeps its state between calls; `exclusive` opens one for each exchange.',
    ),
  authorization,
  headers,
  tls,
  timeouts,
  maxCalls: count(
    4000,
    'Requests and subscriptions in progress at this upstream at once, calls that wait for answers included. More: 503.',
  ),
  cache: z
    .boolean()
    .default(true)
    .describe(
      'Cache lists for clients of the other era: of a modern upstream while it says they are fresh, of a legacy one while the stream is open that tells of changes.',
    ),
});

import { z } from 'zod';
import { httpUrl } from './http-url.js';
import { limitSchema } from './limit-schema.js';
import { DEFAULT_LISTEN, formatListen, LISTEN_FORMS, parseListen } from './listen.js';
import { bytes, count, milliseconds, MIB } from './quantity.js';
import { storeSchema } from './store-schema.js';
import { timeoutSchema } from './timeout-schema.js';
import { upstreamSchema } from './upstream-schema.js';

export const UPSTREAM_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/i;

export const UPSTREAM_NAME_FORM =
  'a name of 1 to 64 letters, digits, ".", "_" or "-" that begins with a letter or digit';

const listenText = z.string().transform((text, context) => {
  const address = parseListen(text);
  if (address !== undefined) return address;
  context.addIssue({ code: 'custom', message: LISTEN_FORMS });
  return z.NEVER;
});

const listen = z
  .union([
    z.strictObject({
      host: z
        .string()
        .regex(/^[^\s[\]/@?#]+$/, 'a host name or IP address, without brackets')
        .default(DEFAULT_LISTEN.host)
        .describe('Interface to bind. Anything but a loopback address is reachable from other machines.'),
      port: count(DEFAULT_LISTEN.port, 'TCP port; 0 lets the system choose.', 0, 65_535),
    }),
    listenText,
  ])
  .prefault(formatListen(DEFAULT_LISTEN))
  .describe(
    'Where the gateway accepts connections: an object, or text as `host:port`, `[::1]:port`, `:port` (all IPv4 interfaces) or a port (loopback).',
  );

const sessions = z
  .strictObject({
    idleMs: milliseconds(
      1_800_000,
      'A session without any request or open stream ends after this long, in milliseconds.',
    ),
    maxAgeMs: milliseconds(86_400_000, 'A session ends after this long in any case, in milliseconds.'),
    max: count(10_000, 'Sessions of all clients together. More: 503.'),
    maxPerPrincipal: count(1000, 'Sessions of one principal. More: 429.'),
  })
  .prefault({})
  .describe('Sessions of legacy clients.');

const replay = z
  .strictObject({
    maxAgeMs: milliseconds(300_000, 'How long an event can be replayed, in milliseconds from its creation.'),
    maxEvents: count(1000, 'Events kept per session.'),
    maxBytes: bytes(4 * MIB, 'Bytes kept per session.'),
    maxTotalBytes: bytes(256 * MIB, 'Bytes kept over all sessions.'),
  })
  .prefault({})
  .describe('What a legacy client can have replayed after a broken connection.');

const polling = z
  .strictObject({
    closeAfterMs: milliseconds(
      0,
      'Close the connection of a waiting call after this long, in milliseconds, and let the client poll. 0 never does.',
      0,
    ),
    retryMs: milliseconds(
      1000,
      'How long such a client is told to wait before it connects again, in milliseconds.',
      0,
    ),
  })
  .prefault({})
  .describe('Server-side disconnect for legacy clients whose revision has it.');

const cluster = z
  .strictObject({
    url: z
      .string()
      .regex(/^rediss?:\/\/\S+$/, 'a URL that begins with redis:// or rediss://')
      .describe('The Redis server all instances share.'),
    prefix: z
      .string()
      .regex(/^[\w:.-]{1,64}$/, '1 to 64 letters, digits, `_`, `:`, `.` or `-`')
      .default('mcp-gangway')
      .describe('Begins the names of all keys and channels in Redis.'),
  })
  .describe(
    'Several instances as one: any of them takes any request of a session. Needs the package `redis`. Credentials never pass through Redis.',
  );

const compat = z
  .strictObject({
    hybridClients: z
      .boolean()
      .default(false)
      .describe(
        'Serve requests with a legacy version header and a modern body as modern, instead of refusing them.',
      ),
    defaultLogLevel: z
      .enum(['none', 'debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'])
      .default('info')
      .describe(
        'Log level asked of modern upstreams for legacy clients that never set one, as legacy servers choose one. `none`: no log messages until they do.',
      ),
  })
  .prefault({})
  .describe('Concessions to peers that do not follow the specification.');

const logging = z
  .strictObject({
    level: z
      .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
      .default('info')
      .describe("Least severe of the gateway's own log lines to print, on stderr."),
  })
  .prefault({})
  .describe("The gateway's own log.");

/** The configuration as a user may write it. Every key but an upstream's `url` has a default; unknown keys are errors. */
export const gatewaySchema = z
  .strictObject({
    listen,
    publicUrl: httpUrl(
      'The URL under which clients reach the gateway, when a proxy stands in front.',
    ).exactOptional(),
    allowedHosts: z
      .array(
        z
          .string()
          .regex(
            /^(?:\*|\[[0-9a-f:.]+\](?::\d{1,5})?|[^\s:/@?#*[\]]+(?::\d{1,5})?)$/i,
            "a host name, with or without a port, or '*'",
          ),
      )
      .default([])
      .describe(
        'Values of the Host header to accept besides loopback names and the listen host: protection against DNS rebinding. `*` accepts any.',
      ),
    allowedOrigins: z
      .array(
        z
          .string()
          .regex(
            /^(?:\*|[a-z][a-z0-9+.-]*:\/\/[^\s/@?#*]+)$/i,
            "an origin such as https://app.example, or '*'",
          ),
      )
      .default([])
      .describe('Origins of browser pages to accept besides loopback ones. `*` accepts any.'),
    upstreams: z
      .record(z.string().regex(UPSTREAM_NAME, UPSTREAM_NAME_FORM), upstreamSchema)
      .default({})
      .describe(
        'The upstream servers by name: 1 to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or digit. Each is served at `/mcp/NAME`.',
      ),
    defaultUpstream: z
      .string()
      .exactOptional()
      .describe('The upstream served at `/mcp`. Default: the one named `default`, else the first.'),
    sessions,
    replay,
    store: storeSchema,
    polling,
    limits: limitSchema,
    timeouts: timeoutSchema,
    cluster: cluster.exactOptional(),
    compat,
    logging,
  })
  .describe('Configuration of mcp-gangway.');

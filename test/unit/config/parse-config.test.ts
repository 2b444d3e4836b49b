import { describe, expect, test } from 'vitest';
import { findUpstream, parseConfig } from '../../../src/config/config.js';
import { ConfigError } from '../../../src/config/config-error.js';

const MCP = 'https://tools.example/mcp';

/** The complaints about a configuration, one on a line. */
function complaints(input: unknown): string {
  try {
    parseConfig(input);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return '';
}

describe('defaults', () => {
  test('everything but the url of an upstream has one', () => {
    expect(parseConfig({ upstreams: { tools: { url: MCP } } })).toEqual({
      listen: { host: '127.0.0.1', port: 8808 },
      allowedHosts: [],
      allowedOrigins: [],
      upstreams: {
        tools: {
          url: MCP,
          era: 'auto',
          sessions: 'shared',
          authorization: { mode: 'transparent' },
          headers: {},
          tls: { rejectUnauthorized: true },
          timeouts: {},
          maxCalls: 4000,
          cache: true,
        },
      },
      defaultUpstream: 'tools',
      sessions: { idleMs: 1_800_000, maxAgeMs: 86_400_000, max: 10_000, maxPerPrincipal: 1000 },
      replay: { maxAgeMs: 300_000, maxEvents: 1000, maxBytes: 4_194_304, maxTotalBytes: 268_435_456 },
      polling: { closeAfterMs: 0, retryMs: 1000 },
      store: { kind: 'memory' },
      limits: {
        bodyBytes: 4_194_304,
        upstreamMessageBytes: 33_554_432,
        jsonDepth: 512,
        headerBytes: 32_768,
        headerCount: 100,
        batchSize: 50,
        concurrentRequests: 2000,
        concurrentPerPrincipal: 500,
        detachedPerPrincipal: 50,
        streamBufferBytes: 1_048_576,
        retryAfterSeconds: 5,
        rounds: 16,
        parkedPerPrincipal: 100,
        parkedBytesPerPrincipal: 8_388_608,
        openQuestions: 100,
        subscribedResources: 1000,
        clientDescriptionCharacters: 131_072,
        upstreamSessionsPerPrincipal: 64,
      },
      timeouts: {
        connectMs: 5000,
        callMs: 300_000,
        callMaxMs: 3_600_000,
        probeMs: 5000,
        initializeMs: 15_000,
        questionMs: 600_000,
        parkMs: 300_000,
        streamCommitMs: 5000,
        keepAliveMs: 15_000,
        stallMs: 60_000,
        upstreamSessionIdleMs: 600_000,
        eraTtlMs: 3_600_000,
        eraRetryMs: 1000,
        bodyMs: 30_000,
        shutdownMs: 10_000,
      },
      compat: { hybridClients: false, defaultLogLevel: 'info' },
      logging: { level: 'info' },
    });
  });

  test.each([undefined, {}, { publicUrl: undefined, compat: { defaultLogLevel: undefined } }])(
    '%j is a configuration without upstreams',
    (input) => {
      const config = parseConfig(input);
      expect(config.upstreams).toEqual({});
      expect(config).not.toHaveProperty('defaultUpstream');
      expect(config).not.toHaveProperty('publicUrl');
      expect(config.compat.defaultLogLevel).toBe('info');
    },
  );

  test('a resolved configuration comes back equal', () => {
    const config = parseConfig({
      listen: '[::1]:0',
      publicUrl: 'https://mcp.example/mcp',
      upstreams: {
        a: { url: MCP, authorization: { mode: 'static', header: 'Bearer x' }, headers: { 'X-A': '1' } },
        b: { url: MCP, era: 'modern' },
      },
      compat: { defaultLogLevel: 'warning' },
    });
    expect(parseConfig(config)).toEqual(config);
  });

  test('the default upstream is the one named so, else default, else the first', () => {
    const upstreams = { one: { url: MCP }, default: { url: MCP } };
    expect(parseConfig({ upstreams }).defaultUpstream).toBe('default');
    expect(parseConfig({ upstreams, defaultUpstream: 'one' }).defaultUpstream).toBe('one');
    expect(parseConfig({ upstreams: { b: { url: MCP }, a: { url: MCP } } }).defaultUpstream).toBe('b');
  });

  test('a name every object inherits finds no upstream', () => {
    const config = parseConfig({ upstreams: { a: { url: MCP } } });
    expect(findUpstream(config, 'constructor')).toBeUndefined();
    expect(findUpstream(config, 'a')?.url).toBe(MCP);
  });
});

describe('complaints name the key, the shape found and what was expected', () => {
  test.each<[unknown, string]>([
    [[], 'configuration: expected an object, got a list of 0 items'],
    ['x', 'configuration: expected an object, got a string of 1 character'],
    [
      { listen: 'here' },
      'listen: expected host:port, :port, [ipv6]:port or a port from 0 to 65535, got a string of 4 characters',
    ],
    [{ listen: 8808 }, 'listen: expected an object or a string, got a number'],
    [
      { listen: { port: 70_000 } },
      'listen.port: expected a whole number from 0 to 65535, got the number 70000',
    ],
    [
      { listen: { host: '' } },
      'listen.host: expected a host name or IP address, without brackets, got an empty string',
    ],
    [
      { publicUrl: 'mcp.example' },
      'publicUrl: expected an absolute http or https URL without user name, password or fragment, got a string of 11 characters',
    ],
    [
      { allowedHosts: ['ok', 'https://no'] },
      "allowedHosts[1]: expected a host name, with or without a port, or '*', got a string of 10 characters",
    ],
    [
      { allowedOrigins: ['app.example'] },
      "allowedOrigins[0]: expected an origin such as https://app.example, or '*', got a string of 11 characters",
    ],
    [{ allowedOrigins: '*' }, 'allowedOrigins: expected a list, got a string of 1 character'],
    [{ sessions: null }, 'sessions: expected an object, got an empty value (null)'],
    [{ sessions: { max: 0 } }, 'sessions.max: expected a whole number of at least 1, got the number 0'],
    [{ limits: { rounds: 1.5 } }, 'limits.rounds: expected a whole number of at least 1, got the number 1.5'],
    [
      { timeouts: { callMs: '5s' } },
      'timeouts.callMs: expected a whole number from 1 to 2147483647, got a string of 2 characters',
    ],
    [
      { timeouts: { keepAliveMs: 2 ** 31 } },
      'timeouts.keepAliveMs: expected a whole number from 1 to 2147483647, got the number 2147483648',
    ],
    [
      { compat: { hybridClients: 'yes' } },
      'compat.hybridClients: expected true or false, got a string of 3 characters',
    ],
    [
      { logging: { level: 'loud' } },
      'logging.level: expected one of fatal, error, warn, info, debug, trace, silent, got a string of 4 characters',
    ],
    [{ upstreams: { a: MCP } }, 'upstreams.a: expected an object, got a string of 25 characters'],
    [{ upstreams: { a: {} } }, 'upstreams.a.url: expected an http or https URL, but it is missing'],
    [
      { upstreams: { 'a b': { url: MCP } } },
      'upstreams["a b"]: expected a name of 1 to 64 letters, digits, ".", "_" or "-" that begins with a letter or digit',
    ],
    [
      { upstreams: { a: { url: MCP, era: 'old' } } },
      'upstreams.a.era: expected one of auto, legacy, modern, got a string of 3 characters',
    ],
    [
      { upstreams: { a: { url: MCP, authorization: {} } } },
      'upstreams.a.authorization.mode: expected one of transparent, static, but it is missing',
    ],
    [
      { upstreams: { a: { url: MCP, authorization: { mode: 'static' } } } },
      'upstreams.a.authorization.header: expected a string, but it is missing',
    ],
    [
      { upstreams: { a: { url: MCP, authorization: { header: 'x', mode: 'transparent' } } } },
      'upstreams.a.authorization.header: unknown key in this mode',
    ],
    [
      { upstreams: { a: { url: MCP, headers: { 'X-A': 5 } } } },
      'upstreams.a.headers.X-A: expected a string, got a number',
    ],
    [
      { upstreams: { a: { url: MCP, tls: { ca: 'ca.pem' } } } },
      'upstreams.a.tls.ca: expected a certificate in PEM form, got a string of 6 characters',
    ],
  ])('%j', (input, complaint) => {
    expect(complaints(input)).toBe(complaint);
  });

  test.each<[unknown, string]>([
    [{ limit: {} }, 'limit: unknown key; did you mean limits?'],
    [{ limits: { body_bytes: 1 } }, 'limits.body_bytes: unknown key; did you mean bodyBytes?'],
    [{ timeouts: { calMs: 1 } }, 'timeouts.calMs: unknown key; did you mean callMs?'],
    [{ bodyBytes: 1 }, 'bodyBytes: unknown key; it belongs under limits'],
    [{ polling: { x: 1 } }, 'polling.x: unknown key; known here: closeAfterMs, retryMs'],
    [{ listen: { prot: 1 } }, 'listen.prot: unknown key; did you mean port?'],
    [{ upstreams: { a: { uri: MCP, url: MCP } } }, 'upstreams.a.uri: unknown key; did you mean url?'],
    [
      JSON.parse('{"limits":{"__proto__":{"x":1}}}'),
      expect.stringMatching(/^limits\.__proto__: unknown key; known here: /),
    ],
    [{ ['k'.repeat(500)]: 1 }, expect.stringMatching(/^k{63}…: unknown key/)],
  ])('an unknown key in %j gets a suggestion', (input, complaint) => {
    expect(complaints(input)).toEqual(complaint);
  });

  test('all of them come at once', () => {
    const error = complaints({ x: 1, limits: { rounds: 0 }, upstreams: { a: { url: 'ftp://x' } } });
    expect(error.split('\n').map((line) => line.split(':')[0])).toEqual([
      'upstreams.a.url',
      'limits.rounds',
      'x',
    ]);
  });
});

describe('URLs', () => {
  test.each([
    'http://127.0.0.1:3000',
    'https://x.example/mcp?team=a',
    'http://[::1]:3000/',
    'HTTP://X.example/MCP',
  ])('%s is taken', (url) => expect(parseConfig({ upstreams: { a: { url } } }).upstreams.a?.url).toBe(url));

  test.each([
    '',
    'x.example/mcp',
    'ftp://x.example',
    'ws://x.example',
    'file:///etc/passwd',
    'https://user@x.example',
    'https://user:secret@x.example',
    'https://@x.example',
    'https://:@x.example',
    'https://x.example/#part',
    'https://x.example/#',
    'https:x.example',
    'https:\\\\x.example',
    'https://x.example/\nmcp',
    ' https://x.example',
    'https://x.example:99999',
  ])('%j is not', (url) => {
    expect(complaints({ upstreams: { a: { url } } })).toMatch(
      /^upstreams\.a\.url: expected an absolute http/,
    );
  });
});

describe('upstream headers', () => {
  test.each([
    ['Mcp-Session-Id', /no Mcp-\* header/],
    ['mcp-protocol-version', /no Mcp-\* header/],
    ['Authorization', /use authorization/],
    ['Host', /not computed/],
    ['Content-Length', /not computed/],
    ['Transfer-Encoding', /not computed/],
    ['connection', /not computed/],
    ['Last-Event-ID', /not computed/],
    ['Accept', /not computed/],
    ['X A', /an HTTP header name/],
    ['X:A', /an HTTP header name/],
    ['', /an HTTP header name/],
  ])('%j is refused', (name, reason) => {
    expect(complaints({ upstreams: { a: { url: MCP, headers: { [name]: 'v' } } } })).toMatch(reason);
  });

  test.each(['', ' a', 'a ', 'a\r\nX: b', 'a\nb', 'a\0b', '\u20ac'])('the value %j is refused', (value) => {
    expect(complaints({ upstreams: { a: { url: MCP, headers: { 'X-A': value } } } })).toMatch(
      /one line of visible/,
    );
  });

  test('one name in two spellings is refused', () => {
    expect(complaints({ upstreams: { a: { url: MCP, headers: { 'X-A': '1', 'x-a': '2' } } } })).toBe(
      'upstreams.a.headers.x-a: expected each header name once, got a string of 1 character',
    );
  });
});

describe('rules between keys', () => {
  const lent = { url: MCP, authorization: { mode: 'static', header: 'Bearer s3cret' } };

  test.each(['0.0.0.0:1', ':1', '[::]:1', '10.0.0.1:1', 'gateway.example:1'])(
    'a static credential does not start on %s',
    (listen) => {
      const error = complaints({ listen, upstreams: { a: lent } });
      expect(error).toMatch(
        /^upstreams\.a\.authorization\.allowAnonymous: the gateway listens beyond loopback/,
      );
      expect(error).not.toContain('s3cret');
    },
  );

  test('it does on loopback, or when lending it is asked for', () => {
    for (const listen of ['1', '127.0.0.1:1', 'localhost:1', '[::1]:1']) {
      expect(complaints({ listen, upstreams: { a: lent } })).toBe('');
    }
    const open = { ...lent, authorization: { ...lent.authorization, allowAnonymous: true } };
    expect(complaints({ listen: ':1', upstreams: { a: open } })).toBe('');
  });

  test('the default upstream must exist', () => {
    const upstreams = { search: { url: MCP }, tools: { url: MCP } };
    expect(complaints({ upstreams, defaultUpstream: 'tool' })).toBe(
      'defaultUpstream: expected the name of an upstream; did you mean tools?',
    );
    expect(complaints({ upstreams, defaultUpstream: 'constructor' })).toBe(
      'defaultUpstream: expected the name of an upstream; there are: search, tools',
    );
  });

  test('names differ in more than case, since they become paths', () => {
    expect(complaints({ upstreams: { Tools: { url: MCP }, tools: { url: MCP } } })).toBe(
      'upstreams.tools: expected a name that differs from Tools in more than case',
    );
  });

  test('a call may not be allowed to be silent for longer than it may last', () => {
    expect(complaints({ timeouts: { callMs: 7_200_000 } })).toMatch(
      /^timeouts\.callMs: expected at most timeouts\.callMaxMs \(3600000\)/,
    );
    const one = (timeouts: object) => complaints({ upstreams: { slow: { url: MCP, timeouts } } });
    expect(one({ callMs: 7_200_000 })).toMatch(
      /^upstreams\.slow\.timeouts\.callMs: expected at most the callMaxMs of this upstream \(3600000\)/,
    );
    expect(one({ callMaxMs: 1000 })).toMatch(
      /^upstreams\.slow\.timeouts\.callMaxMs: expected at least timeouts\.callMs \(300000\), got the number 1000/,
    );
    const timeouts = { callMs: 7_200_000, callMaxMs: 7_200_000 };
    expect(parseConfig({ upstreams: { slow: { url: MCP, timeouts } } }).upstreams['slow']?.timeouts).toEqual(
      timeouts,
    );
  });
});

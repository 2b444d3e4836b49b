import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseConfig } from '../../../src/config/config.js';
import { redactConfig, redactUrl } from '../../../src/config/redact.js';

const SECRET = 'hunter2hunter2hunter2';

describe('redactConfig', () => {
  const config = parseConfig({
    publicUrl: `https://mcp.example/${SECRET}`,
    upstreams: {
      a: {
        url: `https://a.example/mcp/${SECRET}?key=${SECRET}&team=blue`,
        authorization: { mode: 'static', header: `Bearer ${SECRET}` },
        headers: { 'X-Api-Key': SECRET },
        tls: { ca: `-----BEGIN CERTIFICATE-----\n${SECRET}\n` },
      },
    },
  });

  test('no secret is left', () => {
    expect(JSON.stringify(redactConfig(config))).not.toContain(SECRET);
  });

  test('names and everything else are', () => {
    expect(redactConfig(config)).toMatchObject({
      publicUrl: 'https://mcp.example/[redacted]',
      listen: config.listen,
      upstreams: {
        a: {
          url: 'https://a.example/mcp/[redacted]?key=[redacted]&team=[redacted]',
          authorization: { mode: 'static', header: '[redacted]', allowAnonymous: false },
          headers: { 'X-Api-Key': '[redacted]' },
          tls: { rejectUnauthorized: true, ca: '[50 characters of PEM]' },
        },
      },
    });
  });

  test('the configuration itself stays as it was', () => {
    redactConfig(config);
    expect(config.upstreams.a?.headers['X-Api-Key']).toBe(SECRET);
  });
});

describe('redactUrl', () => {
  test.each([
    ['http://127.0.0.1:3000/mcp', 'http://127.0.0.1:3000/mcp'],
    [
      'https://x.example/mcp/my-very-long-server-name-v2',
      'https://x.example/mcp/my-very-long-server-name-v2',
    ],
    ['https://x.example/s/3f2a7c1e-9b8d-4e6f-a1b2-c3d4e5f60718/mcp', 'https://x.example/s/[redacted]/mcp'],
    ['https://x.example/sk_live_4eC39HqLyjWDarjtT1zdp7dc', 'https://x.example/[redacted]'],
    ['https://user:pass@x.example/', 'https://[redacted]@x.example/'],
    ['https://x.example/?token', 'https://x.example/?[redacted]'],
    ['https://x.example/?a=b=c&d=', 'https://x.example/?a=[redacted]&d=[redacted]'],
    ['https://x.example/#token', 'https://x.example/#[redacted]'],
    ['not a url', '[redacted]'],
  ])('%s', (url, shown) => {
    expect(redactUrl(url)).toBe(shown);
  });
});

describe('errors', () => {
  test('never show a text value, wherever it stands by mistake', () => {
    const template = {
      listen: { host: '127.0.0.1', port: 1 },
      publicUrl: 'https://x.example/',
      allowedHosts: ['x'],
      allowedOrigins: ['https://x.example'],
      upstreams: {
        a: {
          url: 'https://x.example/',
          era: 'auto',
          sessions: 'shared',
          authorization: { mode: 'static', header: 'Bearer x', allowAnonymous: false },
          headers: { 'X-A': 'x' },
          tls: { rejectUnauthorized: true },
          maxCalls: 1,
          cache: true,
        },
      },
      defaultUpstream: 'a',
      sessions: { idleMs: 1 },
      limits: { rounds: 1 },
      timeouts: { callMs: 1 },
      compat: { hybridClients: false, defaultLogLevel: 'info' },
      logging: { level: 'info' },
    };
    const paths = everyPath(template);
    const misplaced = fc.constantFrom<unknown>(
      SECRET,
      `${SECRET}\n`,
      [SECRET],
      { url: SECRET },
      `https://${SECRET}@x/`,
    );
    let refused = 0;
    fc.assert(
      fc.property(fc.constantFrom(...paths), misplaced, (path, value) => {
        const message = complaint(put(template, path, value));
        if (message !== '') refused += 1;
        expect(message).not.toContain(SECRET);
      }),
      { numRuns: 500 },
    );
    expect(refused).toBeGreaterThan(100);
  });
});

function complaint(input: unknown): string {
  try {
    parseConfig(input);
    return '';
  } catch (error) {
    return `${String(error)}\n${(error as Error).stack ?? ''}`;
  }
}

function everyPath(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path];
  const below = Object.entries(value).flatMap(([key, member]) => everyPath(member, [...path, key]));
  return path.length === 0 ? below : [path, ...below];
}

function put(tree: unknown, path: readonly string[], value: unknown): unknown {
  const copy: any = structuredClone(tree);
  let parent = copy;
  for (const key of path.slice(0, -1)) parent = parent[key];
  parent[path.at(-1)!] = value;
  return copy;
}

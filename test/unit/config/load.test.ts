import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConfigError } from '../../../src/config/config-error.js';
import { loadConfig } from '../../../src/config/load.js';
import type { ConfigFlags } from '../../../src/config/override.js';

const PEM = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gangway-config-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

async function file(text: string, name = 'gateway.yaml'): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

/** The complaints, with the folder of the test cut from file names. */
async function complaints(flags: ConfigFlags, environment: Record<string, string> = {}): Promise<string> {
  const error: unknown = await loadConfig(flags, environment).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ConfigError);
  return (error as ConfigError).message.replaceAll(`${folder}/`, '');
}

describe('precedence', () => {
  const text = `
listen: 127.0.0.1:1001
publicUrl: https://file.example/
logging: { level: error }
limits: { rounds: 3 }
upstreams:
  one: { url: https://file.example/one, authorization: { mode: static, header: Bearer file } }
  two: { url: https://file.example/two, era: modern }
defaultUpstream: two
`;
  const environment = {
    MCP_GANGWAY_LISTEN: '127.0.0.1:1002',
    MCP_GANGWAY_UPSTREAM: 'https://env.example/mcp',
    MCP_GANGWAY_LOG_LEVEL: 'warn',
    MCP_GANGWAY_PUBLIC_URL: 'https://env.example/',
  };

  test('defaults alone', async () => {
    const config = await loadConfig({}, {});
    expect(config.listen).toEqual({ host: '127.0.0.1', port: 8808 });
    expect(config.logging.level).toBe('info');
  });

  test('the file beats the defaults', async () => {
    const config = await loadConfig({ config: await file(text) }, {});
    expect(config.listen.port).toBe(1001);
    expect(config.logging.level).toBe('error');
    expect(config.limits.rounds).toBe(3);
    expect(config.limits.batchSize).toBe(50);
    expect(Object.keys(config.upstreams)).toEqual(['one', 'two']);
    expect(config.defaultUpstream).toBe('two');
  });

  test('the environment beats the file', async () => {
    const config = await loadConfig({ config: await file(text) }, environment);
    expect(config.listen.port).toBe(1002);
    expect(config.logging.level).toBe('warn');
    expect(config.publicUrl).toBe('https://env.example/');
    expect(config.limits.rounds).toBe(3);
    expect(Object.keys(config.upstreams)).toEqual(['default']);
    expect(config.defaultUpstream).toBe('default');
  });

  test('flags beat the environment', async () => {
    const flags: ConfigFlags = {
      config: await file(text),
      listen: '1003',
      upstream: ['https://flag.example/mcp', 'other=http://other.example/?a=b'],
      logLevel: 'debug',
      era: 'legacy',
    };
    const config = await loadConfig(flags, { ...environment, MCP_GANGWAY_CONFIG: '/nowhere' });
    expect(config.listen.port).toBe(1003);
    expect(config.logging.level).toBe('debug');
    expect(config.upstreams).toMatchObject({
      default: { url: 'https://flag.example/mcp', era: 'legacy' },
      other: { url: 'http://other.example/?a=b', era: 'legacy' },
    });
    expect(config.publicUrl).toBe('https://env.example/');
  });

  test('the file may be named by the environment, and an empty variable is none', async () => {
    const config = await loadConfig({}, { MCP_GANGWAY_CONFIG: await file(text), MCP_GANGWAY_LISTEN: '' });
    expect(config.listen.port).toBe(1001);
  });

  test("an upstream from a flag gets nothing of the file's one with the same name", async () => {
    const config = await loadConfig(
      { config: await file(text), upstream: ['one=https://evil.example/'] },
      {},
    );
    expect(config.upstreams.one?.authorization).toEqual({ mode: 'transparent' });
  });

  test('several upstreams in one variable; the default of the file holds while it exists', async () => {
    const config = await loadConfig(
      { config: await file(text) },
      { MCP_GANGWAY_UPSTREAM: ' one=https://a.example/  two=https://b.example/ ' },
    );
    expect(Object.keys(config.upstreams)).toEqual(['one', 'two']);
    expect(config.defaultUpstream).toBe('two');
  });

  test('--era reaches the upstreams of the file', async () => {
    const config = await loadConfig({ config: await file(text), era: 'legacy' }, {});
    expect(config.upstreams.two?.era).toBe('legacy');
    expect(config.upstreams.one?.authorization.mode).toBe('static');
  });
});

describe('files', () => {
  test('JSON, with the key that editors want', async () => {
    const path = await file('{\n\t"$schema": "./s.json",\n\t"listen": "5"\n}', 'gateway.json');
    expect((await loadConfig({ config: path }, {})).listen.port).toBe(5);
  });

  test('an empty file and a file of comments are configurations', async () => {
    for (const text of ['', '# nothing\n']) {
      expect((await loadConfig({ config: await file(text) }, {})).listen.port).toBe(8808);
    }
  });

  test('certificates are read relative to the file', async () => {
    await file(PEM, 'ca.pem');
    const path = await file('upstreams: { a: { url: https://a.example/, tls: { ca: ca.pem } } }');
    expect((await loadConfig({ config: path }, {})).upstreams.a?.tls.ca).toBe(PEM);
  });

  test('a certificate that is not there', async () => {
    const path = await file('upstreams: { a: { url: https://a.example/, tls: { ca: gone.pem } } }');
    expect(await complaints({ config: path })).toBe(
      'gateway.yaml: upstreams.a.tls.ca: cannot read the file: there is none',
    );
  });

  test('a file that is not there, and one that is a folder', async () => {
    expect(await complaints({ config: join(folder, 'gone.yaml') })).toBe(
      'gone.yaml: cannot read the file: there is none',
    );
    expect(await complaints({ config: folder })).toMatch(/cannot read the file: it is a directory$/);
  });

  test.each([
    ['a: hunter2\na: hunter2', '2:1', 'duplicate key'],
    ['{"a": "hunter2", "a": 1}', '1:18', 'duplicate key'],
    ['a: [hunter2', '1:12', ''],
    ['a:\n\t- hunter2', '2:1', 'tab as indent'],
    ['hunter2: "\\q"', '1:11', 'bad dq escape'],
    ['a: 1\n---\nhunter2: 2', '2:1', 'multiple docs'],
    ['a: !hunter2 x', '1:4', ''],
  ])('a mistake in %j is placed, not quoted', async (text, place, kind) => {
    const complaint = await complaints({ config: await file(text) });
    expect(complaint).toContain(
      `gateway.yaml:${place}: expected YAML or JSON, got a mistake in its syntax (`,
    );
    expect(complaint).toContain(kind);
    expect(complaint).not.toContain('hunter2');
  });

  test('an alias without an anchor', async () => {
    expect(await complaints({ config: await file('a: *hunter2') })).toBe(
      'gateway.yaml: expected YAML or JSON, got a mistake in its syntax (an alias (*) without its anchor (&), or too many of them)',
    );
  });

  test('variables that are not set are all named', async () => {
    const path = await file(
      'publicUrl: ${URL_A}\nupstreams: { a: { url: "${URL_B:-https://b.example/}", headers: { X-A: "${KEY}" } } }',
    );
    expect(await complaints({ config: path })).toBe(
      'gateway.yaml: publicUrl: environment variable URL_A is not set\n' +
        'gateway.yaml: upstreams.a.headers.X-A: environment variable KEY is not set',
    );
    const config = await loadConfig({ config: path }, { URL_A: 'https://a.example/', KEY: 'k' });
    expect(config.upstreams.a).toMatchObject({ url: 'https://b.example/', headers: { 'X-A': 'k' } });
  });
});

describe('complaints say where a value came from', () => {
  test.each<[ConfigFlags, Record<string, string>, string]>([
    [{ listen: 'x' }, {}, '--listen: expected host:port'],
    [{}, { MCP_GANGWAY_LISTEN: 'x' }, 'MCP_GANGWAY_LISTEN: expected host:port'],
    [{ logLevel: 'loud' }, {}, '--log-level: expected one of fatal'],
    [{}, { MCP_GANGWAY_LOG_LEVEL: 'loud' }, 'MCP_GANGWAY_LOG_LEVEL: expected one of fatal'],
    [{}, { MCP_GANGWAY_PUBLIC_URL: 'x' }, 'MCP_GANGWAY_PUBLIC_URL: expected an absolute http'],
    [{ upstream: ['localhost:3000'] }, {}, '--upstream (upstreams.default.url): expected an absolute http'],
    [{ upstream: ['a=x'] }, {}, '--upstream (upstreams.a.url): expected an absolute http'],
    [{}, { MCP_GANGWAY_UPSTREAM: 'a=' }, 'MCP_GANGWAY_UPSTREAM (upstreams.a.url): expected an absolute http'],
    [{ upstream: ['=http://x'] }, {}, '--upstream: expected URL or NAME=URL with a name of 1 to 64'],
    [{ upstream: ['_a=http://x'] }, {}, '--upstream: expected URL or NAME=URL with a name of 1 to 64'],
    [
      { upstream: ['http://x', 'http://y'] },
      {},
      '--upstream: only one upstream can go without a name; write NAME=URL',
    ],
    [{ upstream: ['a=http://x', 'a=http://y'] }, {}, '--upstream: two upstreams are named a; write NAME=URL'],
    [{ upstream: ['http://x', 'b=http://x'], era: 'x' }, {}, '--era: expected one of auto, legacy, modern'],
    [{ era: 'modern' }, {}, '--era: expected an upstream to apply to, but there is none'],
  ])('%j %j', async (flags, environment, complaint) => {
    expect(await complaints(flags, environment)).toContain(complaint);
  });

  test('a value of the file is placed in the file', async () => {
    expect(await complaints({ config: await file('limits: { rounds: none }') })).toBe(
      'gateway.yaml: limits.rounds: expected a whole number of at least 1, got a string of 4 characters',
    );
    expect(await complaints({ config: await file('- a') })).toBe(
      'gateway.yaml: expected an object, got a list of 1 item',
    );
  });

  test('a file of the wrong shape is complained about, whatever the flags', async () => {
    const path = await file('upstreams: 5\nlogging: loud');
    expect(await complaints({ config: path, logLevel: 'info', era: 'auto' })).toBe(
      'gateway.yaml: upstreams: expected an object, got a number\n' +
        'gateway.yaml: logging: expected an object, got a string of 4 characters',
    );
  });
});

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { configReference } from '../../../src/config/reference.js';
import { runCommand } from './fake-terminal.js';

const SECRET = 'hunter2hunter2hunter2';

test('config print shows everything but secrets', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gangway-cli-'));
  const file = join(folder, 'gateway.yaml');
  await writeFile(
    file,
    'upstreams: { a: { url: "https://a.example/", authorization: { mode: static, header: "Bearer ${TOKEN}" }, headers: { X-Key: "${TOKEN}" } } }',
  );
  const { code, out, err } = await runCommand(['config', 'print', '-c', file, '-l', '1'], {
    environment: { TOKEN: SECRET },
  });
  await rm(folder, { recursive: true });
  expect([code, err]).toEqual([0, '']);
  expect(out).not.toContain(SECRET);
  expect(parse(out)).toMatchObject({
    listen: { host: '127.0.0.1', port: 1 },
    upstreams: {
      a: { authorization: { mode: 'static', header: '[redacted]' }, headers: { 'X-Key': '[redacted]' } },
    },
    limits: { bodyBytes: 4_194_304 },
  });
});

test('config schema is JSON, or the reference page', async () => {
  const schema = await runCommand(['config', 'schema']);
  expect(JSON.parse(schema.out).properties.limits.properties.rounds).toMatchObject({ default: 16 });
  expect((await runCommand(['config', 'schema', '--markdown'])).out).toBe(configReference());
});

test.each([
  [['config', 'print', '--era', 'new', '-u', 'http://x'], '--era: expected one of auto, legacy, modern'],
  [['config', 'print', '-c', '/nowhere/at.yaml'], '/nowhere/at.yaml: cannot read the file: there is none\n'],
  [['config', 'print', '--unknown'], "error: unknown option '--unknown'"],
  [['servo'], "error: unknown command 'servo'"],
  [['check'], "error: missing required argument 'url'"],
  [[], 'Usage: mcp-gangway'],
])('%j is a mistake of the caller: code 2, no stack', async (args, complaint) => {
  const { code, out, err } = await runCommand(args);
  expect([code, out]).toEqual([2, '']);
  expect(err).toContain(complaint);
  expect(err).not.toContain('    at ');
});

test.each([['--help'], ['--version'], ['serve --help']])('%s is none: code 0', async (line) => {
  const { code, out, err } = await runCommand(line.split(' '));
  expect([code, err]).toEqual([0, '']);
  expect(out).not.toBe('');
});

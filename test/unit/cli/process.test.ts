import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { start } from './child.js';

const MAIN = 'src/cli/main.ts';
const STUB = 'test/unit/cli/stub-program.ts';
const SECRET = 'hunter2hunter2hunter2';

describe('the real entry point', () => {
  test('prints the JSON Schema', async () => {
    const child = start(MAIN, ['config', 'schema']);
    expect(await child.ended).toBe(0);
    expect(JSON.parse(child.out)).toMatchObject({ type: 'object', additionalProperties: false });
  });

  test('says what is wrong with the configuration, and nothing else: code 2', async () => {
    const child = start(MAIN, ['serve', '--listen', 'here'], { MCP_GANGWAY_PUBLIC_URL: SECRET });
    expect(await child.ended).toBe(2);
    expect(child.out).toBe('');
    expect(child.err).toBe(
      '--listen: expected host:port, :port, [ipv6]:port or a port from 0 to 65535, got a string of 4 characters\n' +
        'MCP_GANGWAY_PUBLIC_URL: expected an absolute http or https URL without user name, password or fragment, got a string of 21 characters\n',
    );
  });

  test('survives a reader that closes the pipe', async () => {
    const child = start(MAIN, ['config', 'schema']);
    child.process.stdout!.destroy();
    expect(await child.ended).toBe(0);
    expect(child.err).toBe('');
  });
});

describe('serve', () => {
  test('prints where it is, and closes on SIGTERM: code 0', async () => {
    const child = start(STUB, ['serve', '-u', `https://up.example/mcp?key=${SECRET}`, '-l', '0']);
    await child.printed(/is ready/);
    const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(child.out) ?? [];
    expect(await (await fetch(url)).text()).toBe('ok');
    expect(child.err).toBe('');
    expect(child.out).not.toContain(SECRET);
    child.process.kill('SIGTERM');
    expect(await child.ended).toBe(0);
    expect(child.err).toBe('SIGTERM: closing; once more to stop at once\ngateway closed\n');
  });

  test.each([
    ['SIGINT', 'SIGINT', 130],
    ['SIGTERM', 'SIGINT', 130],
    ['SIGINT', 'SIGTERM', 143],
  ] as const)('%s, then %s while it closes, ends at once: code %d', async (first, second, code) => {
    const child = start(STUB, ['serve', '-l', '0'], { STUB_CLOSE: 'hang' });
    await child.printed(/is ready/);
    child.process.kill(first);
    await child.printed(/closing/);
    child.process.kill(second);
    expect(await child.ended).toBe(code);
  });

  test('a port in use: a clear message, code 1, the demo servers closed', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const child = start(STUB, ['serve', '-l', String(port)]);
    expect(await child.ended).toBe(1);
    expect(child.out).toBe('');
    expect(child.err).toBe(
      `demo closed\n127.0.0.1:${port} is already in use: stop the program that has it, or choose another port with --listen (0 for any free one)\n`,
    );
    other.close();
  });
});

import { describe, expect, test } from 'vitest';
import { formatListen, parseListen } from '../../../src/config/listen.js';
import { isLoopback } from '../../../src/config/loopback.js';

describe('parseListen', () => {
  test.each([
    ['127.0.0.1:8808', '127.0.0.1', 8808],
    ['localhost:0', 'localhost', 0],
    ['my-host.example:65535', 'my-host.example', 65_535],
    [':9000', '0.0.0.0', 9000],
    ['9000', '127.0.0.1', 9000],
    [' 9000 ', '127.0.0.1', 9000],
    ['[::1]:9000', '::1', 9000],
    ['[::]:1', '::', 1],
    ['[fe80::1%eth0]:1', 'fe80::1%eth0', 1],
  ])('reads %s', (text, host, port) => {
    expect(parseListen(text)).toEqual({ host, port });
  });

  test.each([
    '',
    ':',
    'host',
    'host:',
    'host:port',
    '65536',
    '-1',
    '1.5',
    '::1:9000',
    '[::1]',
    '[::1]9000',
    '[127.0.0.1]:9000',
    '[nonsense]:9000',
    'http://127.0.0.1:8808',
    '127.0.0.1:8808/mcp',
    'a b:1',
    'user@host:1',
    '1:2:3',
    '1e3',
  ])('refuses %j', (text) => {
    expect(parseListen(text)).toBeUndefined();
  });

  test('prints what it reads, IPv6 in brackets', () => {
    for (const text of ['127.0.0.1:8808', '[::1]:9000', 'localhost:0']) {
      expect(formatListen(parseListen(text)!)).toBe(text);
    }
  });
});

describe('isLoopback', () => {
  test.each([
    '127.0.0.1',
    '127.9.9.9',
    '::1',
    '::ffff:127.0.0.1',
    'localhost',
    'LOCALHOST',
    'a.localhost',
    'localhost.',
  ])('%s is', (host) => expect(isLoopback(host)).toBe(true));

  test.each([
    '0.0.0.0',
    '::',
    '10.0.0.1',
    '128.0.0.1',
    '::ffff:10.0.0.1',
    'example.com',
    'notlocalhost',
    'localhost.evil',
  ])('%s is not', (host) => expect(isLoopback(host)).toBe(false));
});

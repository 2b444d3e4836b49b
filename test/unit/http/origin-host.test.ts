import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/errors/gateway-error.js';
import { createHostCheck, createOriginCheck } from '../../../src/http/origin-host.js';
import { RawConnection, requestText } from './raw-connection.js';
import { ask, startApp } from './started-app.js';

interface Setting {
  host: string;
  hosts?: string[];
  origins?: string[];
}

function options({ host, hosts = [], origins = [] }: Setting) {
  return { listen: { host }, allowedHosts: hosts, allowedOrigins: origins };
}

function statusOf(check: () => void): number {
  try {
    check();
    return 200;
  } catch (error) {
    return error instanceof GatewayError ? error.status : 0;
  }
}

const origin = (setting: Setting, value: string | undefined): number =>
  statusOf(() => createOriginCheck(options(setting))(value));
const host = (setting: Setting, ...values: string[]): number =>
  statusOf(() => createHostCheck(options(setting))(values));

describe('Origin', () => {
  it('may be absent', () => {
    expect(origin({ host: '0.0.0.0' }, undefined)).toBe(200);
  });

  it('may be a loopback one when listening on loopback only', () => {
    const origins = ['http://localhost', 'https://localhost:6274', 'http://127.0.0.1:1', 'http://[::1]:99'];
    for (const value of origins) {
      expect([value, origin({ host: '127.0.0.1' }, value)]).toEqual([value, 200]);
      expect([value, origin({ host: '::1' }, value)]).toEqual([value, 200]);
      expect([value, origin({ host: 'localhost' }, value)]).toEqual([value, 200]);
      expect([value, origin({ host: '0.0.0.0' }, value)]).toEqual([value, 403]);
      expect([value, origin({ host: 'gateway.example' }, value)]).toEqual([value, 403]);
    }
  });

  it('is refused when it only looks like one that is allowed', () => {
    const setting = { host: '127.0.0.1', origins: ['https://app.example'] };
    const foreign = [
      'null',
      '',
      'http://localhost.evil.example',
      'http://evil.example/http://localhost',
      'http://localhost@evil.example',
      'http://localhost:80@evil.example',
      'http://evil.example#localhost',
      'http://127.0.0.1.evil.example',
      'https://app.example.evil.example',
      'http://app.example',
      'https://app.example:8443',
      'https://app.example, https://evil.example',
      'https://evil.example, https://app.example',
      'localhost',
      'file://',
      'ws://localhost',
    ];
    for (const value of foreign) expect([value, origin(setting, value)]).toEqual([value, 403]);
  });

  it('may be one of the allow-list, however that is spelled', () => {
    const setting = {
      host: '0.0.0.0',
      origins: [
        'https://App.example/',
        'https://b.example:443',
        'vscode-webview://abc',
        'http://c.example:80',
      ],
    };
    const allowed = ['https://app.example', 'https://b.example', 'vscode-webview://abc', 'http://c.example'];
    for (const value of allowed) expect([value, origin(setting, value)]).toEqual([value, 200]);
    expect(origin(setting, 'vscode-webview://abcd')).toBe(403);
  });

  it('may be any with *, but never null', () => {
    const setting = { host: '0.0.0.0', origins: ['*'] };
    expect(origin(setting, 'https://anything.example')).toBe(200);
    expect(origin(setting, 'null')).toBe(403);
    expect(origin({ host: '0.0.0.0', origins: ['null'] }, 'null')).toBe(403);
  });
});

describe('Host', () => {
  it('may be a loopback name when listening on loopback', () => {
    for (const value of ['localhost', 'LOCALHOST:8080', '127.0.0.1', '127.0.0.1:1', '[::1]', '[::1]:80']) {
      expect([value, host({ host: '127.0.0.1' }, value)]).toEqual([value, 200]);
      expect([value, host({ host: '10.0.0.7' }, value)]).toEqual([value, 421]);
    }
  });

  it('may be the host listened on', () => {
    expect(host({ host: 'gw.example' }, 'GW.example:8808')).toBe(200);
    expect(host({ host: '10.0.0.7' }, '10.0.0.7')).toBe(200);
    expect(host({ host: 'fd00::1' }, '[FD00::1]:80')).toBe(200);
    expect(host({ host: '127.0.0.2' }, '127.0.0.2:80')).toBe(200);
  });

  it('may be on the allow-list, with or without port', () => {
    const setting = { host: '0.0.0.0', hosts: ['Gw.example', 'port.example:8443', '[fd00::2]'] };
    expect(host(setting, 'gw.example')).toBe(200);
    expect(host(setting, 'gw.example:9')).toBe(200);
    expect(host(setting, 'PORT.example:8443')).toBe(200);
    expect(host(setting, 'port.example')).toBe(421);
    expect(host(setting, 'port.example:9')).toBe(421);
    expect(host(setting, '[fd00::2]:1')).toBe(200);
  });

  it('may be any with *, if it is a host', () => {
    const setting = { host: '0.0.0.0', hosts: ['*'] };
    expect(host(setting, 'anything.example:1')).toBe(200);
    for (const value of ['', 'a b', 'a/b', 'a@b', 'a:b', 'a:1:2', '[::1']) {
      expect([value, host(setting, value)]).toEqual([value, 400]);
    }
  });

  it('is refused when it is foreign, doubled or missing', () => {
    const setting = { host: '127.0.0.1' };
    for (const value of ['evil.example', 'localhost.evil.example', '127.0.0.1.nip.example', 'localhost.']) {
      expect([value, host(setting, value)]).toEqual([value, 421]);
    }
    expect(host(setting, 'localhost', 'localhost')).toBe(400);
    expect(host(setting)).toBe(400);
  });
});

describe('DNS rebinding, on the wire', () => {
  it('answers a rebound name with 421, whatever the path, and asks nobody', async () => {
    const app = await startApp();
    for (const path of ['/mcp', '/nope', '/.well-known/oauth-protected-resource']) {
      for (const method of ['POST', 'GET', 'DELETE', 'OPTIONS']) {
        const { status, json } = await ask(app, method, path, { headers: { host: 'evil.example' } });
        expect([path, method, status, 'id' in json]).toEqual([path, method, 421, false]);
        expect(json.error.message).toMatch(/Host header.*"evil\.example".*allowedHosts/);
      }
    }
    expect(app.calls).toHaveLength(0);
  });

  it('answers a foreign page with 403 and without CORS headers', async () => {
    const app = await startApp();
    const { status, json, headers } = await ask(app, 'POST', '/mcp', {
      headers: { origin: 'https://evil.example' },
    });
    expect([status, 'id' in json]).toEqual([403, false]);
    expect(json.error.message).toMatch(/Origin header.*"https:\/\/evil\.example".*allowedOrigins/);
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    expect(app.logged.join()).toContain('evil.example');
  });

  it('answers a missing or doubled Host with 400', async () => {
    const app = await startApp();
    const requests = [
      'GET /mcp HTTP/1.1\r\nConnection: close\r\n\r\n',
      'GET /mcp HTTP/1.0\r\n\r\n',
      requestText('GET', '/mcp', ['Host: localhost', 'Host: localhost', 'Connection: close']),
      requestText('GET', '/mcp', ['Host: localhost', 'hOST: evil.example', 'Connection: close']),
    ];
    for (const text of requests) {
      const raw = await RawConnection.open(app.port);
      const answer = await raw.send(text).all();
      expect(answer).toMatch(/^HTTP\/1\.1 400 [^]*"message":"The Host header/);
    }
  });
});

import { execFile } from 'node:child_process';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { nextSteps } from '../../../src/cli/next-steps.js';
import { unsupportedNode } from '../../../src/cli/node-version.js';
import { runCommand } from './fake-terminal.js';

const VERSIONS = { legacy: '2025-11-25', modern: '2026-07-28' };

describe('serve', () => {
  test('hands the whole configuration over and lists the endpoints', async () => {
    const { code, out, served, events } = await runCommand(
      [
        'serve',
        '-u',
        'a=https://a.example/mcp',
        '-u',
        'b=https://b.example/mcp',
        '-l',
        ':9',
        '--era',
        'modern',
      ],
      { environment: { MCP_GANGWAY_PUBLIC_URL: 'https://mcp.example/mcp' } },
    );
    expect(code).toBe(0);
    expect(served[0]).toMatchObject({
      listen: { host: '0.0.0.0', port: 9 },
      upstreams: { a: { era: 'modern' }, b: { era: 'modern' } },
      defaultUpstream: 'a',
    });
    expect(out).toMatch(/mcp-gangway \d+\.\d+\.\d+ is ready\./);
    expect(out).toContain('Clients reach it as https://mcp.example/mcp');
    expect(out).toContain('  http://127.0.0.1:8808/mcp    -> the default upstream, a\n');
    expect(out).toContain('  http://127.0.0.1:8808/mcp/a  -> https://a.example/mcp\n');
    expect(out).toContain('  http://127.0.0.1:8808/mcp/b  -> https://b.example/mcp\n');
    expect(out).not.toContain('curl');
    expect(events).toEqual(['gateway closed']);
  });

  test('without an upstream it starts the demo servers and says what to try', async () => {
    const report = { era: 'legacy' as const, evidence: [], versions: ['2025-11-25'] };
    const { code, out, served, events } = await runCommand(['serve'], { report });
    expect(code).toBe(0);
    expect(served[0]).toMatchObject({
      upstreams: { legacy: { url: 'http://127.0.0.1:1/mcp' }, modern: { url: 'http://127.0.0.1:2/mcp' } },
    });
    expect(out.match(/curl/g)!.length).toBeGreaterThanOrEqual(2);
    expect(out).toContain('mcp-inspector --cli http://127.0.0.1:8808/mcp/modern');
    expect(events).toEqual(['gateway closed', 'demo closed']);
  });

  test('the demo runs without commands when its servers do not tell their revision', async () => {
    const { code, out, err } = await runCommand(['serve']);
    expect(code).toBe(0);
    expect(out).toContain('/mcp/legacy');
    expect(out).not.toContain('curl');
    expect(err).toBe('SIGTERM: closing; once more to stop at once\n');
  });

  test.each([
    ['EADDRINUSE', '127.0.0.1:8808 is already in use'],
    ['EACCES', 'not allowed to listen on 127.0.0.1:8808'],
    ['EADDRNOTAVAIL', 'cannot listen on 127.0.0.1:8808'],
  ])('%s is explained', async (errorCode, message) => {
    const startFails = Object.assign(new Error('listen failed'), { code: errorCode });
    const { code, out, err, events } = await runCommand(['serve'], { startFails });
    expect([code, out, events]).toEqual([1, '', ['demo closed']]);
    expect(err).toContain(message);
    expect(err).not.toContain('    at ');
  });

  test('a failure nobody foresaw keeps its stack', async () => {
    const { code, err } = await runCommand(['serve'], { startFails: new Error('surprise') });
    expect(code).toBe(1);
    expect(err).toMatch(/^mcp-gangway failed: Error: surprise\n {4}at /);
  });
});

describe('the printed commands', () => {
  test('are shell that sends what each era needs', async () => {
    const seen: { url: string; headers: IncomingHttpHeaders; body: any }[] = [];
    const server = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      request.on('end', () => {
        seen.push({ url: request.url ?? '', headers: request.headers, body: JSON.parse(body) });
        response.end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const text = nextSteps(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, VERSIONS);
    for (const command of text.match(/^ {2}curl [^]*?'\n/gm)!) {
      await promisify(execFile)('sh', ['-c', command]);
    }
    server.close();
    const [initialize, call] = seen;
    expect(initialize).toMatchObject({
      url: '/mcp/modern',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: {
        jsonrpc: '2.0',
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {} },
      },
    });
    expect(call).toMatchObject({
      url: '/mcp/legacy',
      headers: {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': call?.body.params.name,
      },
    });
    expect(call?.body.params._meta['io.modelcontextprotocol/protocolVersion']).toBe('2026-07-28');
    expect(call?.body.params._meta['io.modelcontextprotocol/clientCapabilities']).toEqual({});
    expect(seen).toHaveLength(2);
  });
});

describe('unsupportedNode', () => {
  test.each(['20.19.0', '20.20.2', '21.0.0', '22.1.0', '24.0.0-nightly'])('%s will do', (version) => {
    expect(unsupportedNode(version)).toBeUndefined();
  });

  test.each(['18.20.8', '20.18.3', '20.9.0', '8.0.0'])('%s will not', (version) => {
    expect(unsupportedNode(version)).toBe(`mcp-gangway needs Node 20.19 or newer; this is Node ${version}`);
  });
});

/** At the most talkative level, through errors of all kinds, no credential, session id or payload reaches the log. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ERAS, startScript } from '../peers/cells.js';
import { sendRaw } from '../peers/raw-client.js';
import {
  type Script,
  type ScriptedServer,
  answer,
  answerResult,
  openStream,
} from '../peers/scripted-server.js';
import { POST_HEADERS, openWireClient, openWireSession } from '../peers/wire-client.js';
import { start } from '../unit/cli/child.js';

const SECRETS = ['s3cret-token', 's3cret-cookie', 's3cret-payload', 's3cret-static', 's3cret-upstream'];

let directory: string;
const upstreams: ScriptedServer[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'secrecy-'));
});

afterAll(async () => {
  for (const upstream of upstreams) await upstream.close();
  await rm(directory, { recursive: true });
});

const faults: Record<string, Script> = {
  html: (_request, res) => answer(res, 200, '<p>s3cret-upstream</p>', { 'content-type': 'text/html' }),
  refused: (_request, res) => answer(res, 401, 's3cret-upstream', { 'www-authenticate': 'Bearer' }),
  lost: (_request, res) => answer(res, 404, ''),
  reset: (_request, res) => void res.socket?.resetAndDestroy(),
  garbage: (_request, res) => {
    const stream = openStream(res);
    stream.send('{"s3cret-upstream":');
    stream.send('{"jsonrpc":"2.0","id":"s3cret-upstream","result":{}}');
    stream.send(
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"s3cret-upstream"}}',
    );
    stream.end();
  },
  redirect: (_request, res) => answer(res, 302, '', { location: 'http://127.0.0.1:9/s3cret-upstream' }),
};

it('keeps secrets out of stdout and stderr', { timeout: 60_000 }, async () => {
  const calls: Script = (request, res) => {
    const fault = faults[String(request.message?.params?.name)];
    if (fault !== undefined) return fault(request, res);
    answerResult(res, request, { resultType: 'complete', content: [] });
  };
  for (const era of ERAS) upstreams.push(await startScript(era, calls, { tools: [] }));
  const config = {
    listen: { host: '127.0.0.1', port: 0 },
    logging: { level: 'trace' },
    timeouts: { callMs: 1000 },
    upstreams: {
      legacy: { url: upstreams[0]!.url },
      modern: { url: upstreams[1]!.url },
      down: { url: 'http://127.0.0.1:9/mcp' },
      own: { url: upstreams[1]!.url, authorization: { mode: 'static', header: 'Bearer s3cret-static' } },
    },
  };
  const file = join(directory, 'config.json');
  await writeFile(file, JSON.stringify(config));
  const child = start('src/cli/main.ts', ['serve', '--config', file]);
  await child.printed(/http:\/\/127\.0\.0\.1:(\d+)/);
  const base = /http:\/\/127\.0\.0\.1:\d+/.exec(child.out + child.err)![0];
  const secret = { authorization: 'Bearer s3cret-token', cookie: 'a=s3cret-cookie' };
  const sessions: string[] = [];

  for (const name of Object.keys(config.upstreams)) {
    const url = `${base}/mcp/${name}`;
    for (const era of ERAS) {
      for (const tool of [...Object.keys(faults), 'fine']) {
        // A fault may end the session, and an unreachable upstream refuses to open one.
        const client = await openWireClient(era, url, { headers: secret }).catch(() => undefined);
        await client
          ?.call('tools/call', { name: tool, arguments: { a: 's3cret-payload' } })
          .catch(() => undefined);
        await client?.notify('notifications/vendor', { a: 's3cret-payload' }).catch(() => undefined);
      }
    }
  }
  for (let i = 0; i < 3; i++)
    sessions.push((await openWireSession(`${base}/mcp/legacy`, { headers: secret })).id);
  for (const [path, headers, body] of [
    ['/mcp/none', secret, '{"s3cret-payload":'],
    ['/mcp/legacy', { ...secret, origin: 'https://evil.example' }, '{}'],
    ['/mcp/legacy', { ...secret, host: 'evil.example' }, '{}'],
    [
      '/mcp/legacy',
      { ...secret, 'mcp-session-id': sessions[0]!, 'last-event-id': 'x' },
      '{"s3cret-payload":1}',
    ],
    [
      '/mcp/legacy',
      { ...secret, 'mcp-session-id': sessions[1]!, 'mcp-protocol-version': '2024-11-05' },
      '[]',
    ],
  ] as const) {
    await (await sendRaw(`${base}${path}`, { headers: { ...POST_HEADERS, ...headers }, body })).text();
  }
  child.process.kill('SIGTERM');
  await child.ended;
  const printed = child.out + child.err;
  // Otherwise nothing would have been tested.
  expect(printed).toContain('"level":40');
  for (const word of [...SECRETS, ...sessions]) expect(printed, word).not.toContain(word);
});

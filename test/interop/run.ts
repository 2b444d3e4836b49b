/**
 * The Python SDK's client, killed in mid-task and restarted without `initialize`, through the gateway: it hears every
 * message once, and the result. `npm run interop`; not among the default tests, because it needs Python and a network.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startGateway } from '../peers/gateway.js';
import {
  modernScript,
  openStream,
  resultText,
  scriptedTool,
  startScriptedServer,
} from '../peers/scripted-server.js';

const here = dirname(fileURLToPath(import.meta.url));
const python = join(here, '.venv', 'bin', 'python');
const STEPS = 50;
const EXPECTED = [...Array.from({ length: STEPS }, (_, i) => `step ${i + 1}`), `result: ${STEPS} steps done`];

interface Upstream {
  readonly url: string;
  close(): unknown;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** FastMCP without an event store: it cannot resume anything itself. */
async function startPython(): Promise<Upstream> {
  const port = await freePort();
  const child = spawn(python, [join(here, 'legacy_server.py'), String(port)], { stdio: 'inherit' });
  const url = `http://127.0.0.1:${port}/mcp`;
  for (let i = 0; ; i++) {
    const answered = await fetch(url).then(
      () => true,
      () => false,
    );
    if (answered) break;
    if (i > 100) throw new Error('the Python server did not start');
    await pause(100);
  }
  return { url, close: () => child.kill('SIGKILL') };
}

async function startModern(): Promise<Upstream> {
  return startScriptedServer(
    modernScript(
      async (request, res) => {
        const stream = openStream(res);
        for (let step = 1; step <= STEPS; step++) {
          const params = { level: 'info', data: `step ${step}` };
          stream.send({ jsonrpc: '2.0', method: 'notifications/message', params });
          await pause(40);
        }
        const content = [{ type: 'text', text: `${STEPS} steps done` }];
        stream.send(resultText(request, { resultType: 'complete', content }));
        stream.end();
      },
      { tools: [scriptedTool('steps')], capabilities: { tools: {}, logging: {} } },
    ),
  );
}

/** Runs the client; resolves with its exit code. */
async function runClient(url: string, directory: string, dieAfter: number): Promise<number> {
  const args = [url, join(directory, 'token'), join(directory, 'log'), String(dieAfter)];
  const child = spawn(python, [join(here, 'resumable_client.py'), ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), 60_000);
  const [code] = (await once(child, 'exit')) as [number | null];
  clearTimeout(timer);
  return code ?? -1;
}

async function interrupted(name: string, start: () => Promise<Upstream>): Promise<boolean> {
  const upstream = await start();
  const gateway = await startGateway(upstream.url);
  const directory = mkdtempSync(join(tmpdir(), 'gangway-interop-'));
  try {
    const codes: number[] = [];
    // Killed during the call, killed twice more during the resume, and then left alone.
    for (const dieAfter of [12, 5, 7, 0]) codes.push(await runClient(gateway.url, directory, dieAfter));
    const lines = readFileSync(join(directory, 'log'), 'utf8').trim().split('\n');
    const right = lines.join('\n') === EXPECTED.join('\n') && codes.join() === '9,9,9,0';
    console.log(`${name}: ${right ? 'every message once, and the result' : 'WRONG'}`);
    if (!right) console.log(JSON.stringify({ codes, lines }, undefined, 2));
    return right;
  } finally {
    rmSync(directory, { recursive: true });
    await gateway.close();
    await upstream.close();
  }
}

execFileSync(join(here, 'setup.sh'), { stdio: 'inherit' });
let right = await interrupted('legacy Python server without event store', startPython);
right = (await interrupted('modern upstream', startModern)) && right;
process.exit(right ? 0 : 1);

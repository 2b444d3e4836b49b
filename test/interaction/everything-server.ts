import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const ENTRY = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
);

/** The server listens on every interface; the hook binds it to the loopback one. */
const LOOPBACK_HOOK = new URL('../conformance/suite-hook.mjs', import.meta.url).href;

/** The public `server-everything` over Streamable HTTP, in a process of its own. */
export class EverythingServer {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(): Promise<EverythingServer> {
    const port = await freePort();
    const child = spawn(process.execPath, ['--import', LOOPBACK_HOOK, ENTRY, 'streamableHttp'], {
      env: { ...process.env, PORT: String(port) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const lines = createInterface({ input: child.stderr });
    await new Promise<void>((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`server-everything ended with ${String(code)}`)));
      lines.on('line', (line) => {
        if (line.includes(`listening on port ${port}`)) resolve();
      });
    });
    return new EverythingServer(child, `http://127.0.0.1:${port}/mcp`);
  }

  async close(): Promise<void> {
    const exit = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exit;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

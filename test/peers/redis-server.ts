import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createConnection, createServer } from 'node:net';

/** A real Redis server of this test's own. */
export interface RedisServer {
  readonly url: string;
  /** Stops the server as a crash would. */
  kill(): Promise<void>;
  /** Starts it again on the same port; empty, unless it has a folder. */
  restart(): Promise<void>;
  /** Lets it answer nothing until `thaw`. */
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
}

/**
 * Starts redis-server on a free loopback port, without persistence.
 * @param folder where it keeps everything it acknowledges
 * @throws Error when the program is missing: a test that needs it must not pass without it
 */
export async function startRedis(folder?: string): Promise<RedisServer> {
  const port = await freePort();
  let child = await launch(port, folder);
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    kill,
    restart: async () => {
      await kill();
      child = await launch(port, folder);
    },
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    stop: kill,
  };
}

async function launch(port: number, folder: string | undefined): Promise<ChildProcess> {
  const keep =
    folder === undefined
      ? ['--appendonly', 'no']
      : ['--dir', folder, '--appendonly', 'yes', '--appendfsync', 'always'];
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', ...keep];
  const child = spawn('redis-server', args, { stdio: 'ignore' });
  let failure: Error | undefined;
  child.once('error', (error) => {
    failure = new Error(`redis-server cannot be started (Debian package redis-server): ${error.message}`);
  });
  child.once('exit', () => (failure ??= new Error('redis-server ended at once')));
  const deadline = Date.now() + 5000;
  while (Date.now() < deadline) {
    if (failure !== undefined) throw failure;
    if (await answers(port)) return child;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  child.kill('SIGKILL');
  throw new Error('redis-server did not answer within 5 s');
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1');
    socket.once('connect', () => socket.write('PING\r\n'));
    socket.once('data', (data) => {
      socket.destroy();
      resolve(data.toString().startsWith('+PONG'));
    });
    socket.once('error', () => resolve(false));
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

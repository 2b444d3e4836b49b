import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type RunningGateway, startGateway } from '../../peers/gateway.js';
import { type RedisServer, startRedis } from '../../peers/redis-server.js';
import { type DrivenCall, DrivenServer } from './driven-server.js';
import { AT_CLIENT, AT_UPSTREAM, type FaultCell } from './fault-cells.js';
import { type Scope, must } from './scope.js';
import { WaitingClient } from './waiting-client.js';

const CHILD = fileURLToPath(new URL('gateway-child.mjs', import.meta.url));

export interface Stage {
  readonly upstream: DrivenServer;
  readonly redis: RedisServer | undefined;
  /** The configuration, to start another gateway on the same store. */
  readonly config: Record<string, unknown>;
}

/** An upstream and a store, and the configuration for a gateway between. */
export async function setStage(
  { upstream: era, store: kind }: FaultCell,
  scope: Scope,
  config: Record<string, unknown> = {},
): Promise<Stage> {
  const upstream = scope.closing(await DrivenServer.start(era));
  const folder = () => {
    const path = mkdtempSync(join(tmpdir(), 'mcp-gangway-'));
    scope.closing({ close: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) });
    return path;
  };
  const path = kind === 'sqlite' ? join(folder(), 'store.db') : '';
  const redis = kind === 'redis' ? await startRedis(folder()) : undefined;
  if (redis !== undefined) scope.closing({ close: () => redis.stop() });
  const stores = {
    memory: { kind },
    sqlite: { kind, path },
    redis: { kind, url: redis?.url },
  };
  return { upstream, redis, config: { logging: { level: 'silent' }, ...config, store: stores[kind] } };
}

/** A gateway in this process. */
export async function openGateway(
  { config }: Stage,
  scope: Scope,
  upstreamUrl: string,
): Promise<RunningGateway> {
  return scope.closing(await startGateway(upstreamUrl, config));
}

/** A gateway in a process of its own. */
export class GatewayChild {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start({ config, upstream }: Stage, scope: Scope): Promise<GatewayChild> {
    const whole = {
      ...config,
      listen: { host: '127.0.0.1', port: 0 },
      upstreams: { default: { url: upstream.server.url } },
    };
    const child = fork(CHILD, [JSON.stringify(whole)], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text));
    const [message] = (await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(() => {
        throw new Error(`the gateway did not start: ${/^\w*Error: .*$/m.exec(said)?.[0] ?? said}`);
      }),
    ])) as [{ url: string }];
    const gateway = new GatewayChild(child, message.url);
    scope.closing({ close: () => gateway.kill() });
    return gateway;
  }

  /** Ends it without a word. */
  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
  }

  /** Sets its clock forward, or with less than 0 back, in milliseconds. */
  async setClock(clock: number): Promise<void> {
    const set = once(this.child, 'message');
    this.child.send({ clock });
    await set;
  }

  /** Bounds the size of the files it may write. @param size bytes, or `unlimited` */
  limitFiles(size: string): void {
    const { status, stderr } = spawnSync('prlimit', ['--pid', String(this.child.pid), `--fsize=${size}:`], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`prlimit (package util-linux) failed: ${stderr ?? 'it is not there'}`);
  }
}

/** A call under way whose first progress has arrived, and somebody else. */
export async function beginCall(
  { client: era }: FaultCell,
  { upstream }: Stage,
  url: string,
  otherUrl = url,
): Promise<{ client: WaitingClient; other: WaitingClient; call: DrivenCall }> {
  const other = await WaitingClient.open(era, otherUrl);
  const client = await WaitingClient.open(era, url);
  const begun = client.begin('call');
  const call = await upstream.call('call');
  call.progress();
  await begun;
  await client.heard(1);
  return { client, other, call };
}

/** Whoever has nothing to do with it is served; it may take a moment until what broke is found to be broken. */
export function mustServe(what: string, client: WaitingClient): Promise<void> {
  return must(what, () => client.isServed());
}

/** The end of a call whose client may have lost its connection, and comes back for the rest. */
export async function endingOf(client: WaitingClient): Promise<string> {
  const first = await client.ending();
  if (client.era === 'modern' || (first !== AT_CLIENT.cut && first !== AT_CLIENT.nothing)) return first;
  for (let tries = 0; tries < 50; tries++) {
    if ((await client.resume()) !== 200) return AT_CLIENT.sessionLost;
    const later = await client.ending();
    if (later === AT_CLIENT.result) return AT_CLIENT.resumed;
    if (later === AT_CLIENT.unknown) return AT_CLIENT.unknownResumed;
    if (later !== AT_CLIENT.cut) return later;
  }
  return 'cut off again and again';
}

/** How the upstream learnt that nobody waits, in words; `otherwise` when it did not. */
export function stopAt(upstream: DrivenServer, call: DrivenCall, otherwise: string): string {
  if (!upstream.isStopped(call)) return otherwise;
  return upstream.era === 'legacy' ? AT_UPSTREAM.cancelled : AT_UPSTREAM.closed;
}

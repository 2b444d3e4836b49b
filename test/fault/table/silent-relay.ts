import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';

/** A relay in front of a port that can stop to forward without a word: what a cable does when it is pulled. */
export class SilentRelay {
  private readonly pairs: (readonly [Socket, Socket])[] = [];

  private constructor(
    private readonly server: ReturnType<typeof createServer>,
    readonly port: number,
  ) {}

  static async start(target: number): Promise<SilentRelay> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const relay = new SilentRelay(server, (server.address() as AddressInfo).port);
    server.on('connection', (client) => {
      const far = connect(target, '127.0.0.1');
      relay.pairs.push([client, far]);
      client.pipe(far).pipe(client);
      client.on('error', () => far.destroy());
      far.on('error', () => client.destroy());
    });
    return relay;
  }

  /** The URL that leads through it. */
  through(url: string): string {
    const { pathname } = new URL(url);
    return `http://127.0.0.1:${this.port}${pathname}`;
  }

  /** From now on nothing passes on the connections there are, and nobody is told. New ones pass. */
  cut(): void {
    for (const [client, far] of this.pairs) {
      client.unpipe(far).pause();
      far.unpipe(client).pause();
    }
  }

  /** Lets everything pass again that was not taken meanwhile. */
  mend(): void {
    for (const [client, far] of this.pairs) client.pipe(far).pipe(client);
  }

  close(): void {
    for (const socket of this.pairs.flat()) socket.destroy();
    this.server.close();
  }
}

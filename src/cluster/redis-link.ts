import type { Logger } from '../telemetry/logger.js';
import type { Frame, Link } from './frame.js';

/** How often an instance shows that it lives, and how long others believe it, in milliseconds. */
const BEAT_MS = 2000;
const BELIEF_MS = 7000;
/** How long a lookup may take before the link counts as down, in milliseconds. */
const LOOKUP_MS = 2000;

/** How long the first connection may take, in milliseconds. */
const CONNECT_MS = 5000;

/** The part of a Redis client that is used here. */
interface Client {
  duplicate(): Client;
  on(event: 'error' | 'reconnecting' | 'ready', listener: (error: Error) => void): unknown;
  connect(): Promise<unknown>;
  subscribe(channel: string, listener: (text: string) => void): Promise<unknown>;
  publish(channel: string, text: string): Promise<unknown>;
  exists(key: string): Promise<number>;
  set(key: string, value: string, options: { expiration: { type: 'PX'; value: number } }): Promise<unknown>;
  del(key: string): Promise<unknown>;
  destroy(): void;
}

type CreateClient = (options: {
  url: string;
  disableOfflineQueue: boolean;
  socket: { reconnectStrategy: (tries: number) => number };
}) => Client;

export interface RedisLinkOptions {
  readonly url: string;
  /** Begins the names of all keys and channels. */
  readonly prefix: string;
  readonly instance: string;
  readonly log: Logger;
}

/** Frames over Redis publish/subscribe: a channel for each instance, and a key that says it lives. */
export class RedisLink implements Link {
  private readonly frames: ((frame: Frame) => void)[] = [];
  private readonly breaks: (() => void)[] = [];
  private readonly beat: NodeJS.Timeout;

  private constructor(
    private readonly options: RedisLinkOptions,
    private readonly publisher: Client,
    private readonly subscriber: Client,
  ) {
    this.beat = setInterval(() => void this.live(), BEAT_MS);
    this.beat.unref();
  }

  /**
   * Connects.
   * @throws Error the package `redis` is missing, or the server cannot be reached
   */
  static async connect(options: RedisLinkOptions): Promise<RedisLink> {
    const createClient = await loadRedis();
    const publisher = createClient({
      url: options.url,
      // A frame that waits for a reconnection would arrive out of time: better to lose the request than to revive it.
      disableOfflineQueue: true,
      socket: { reconnectStrategy: (tries) => Math.min(50 * 2 ** tries, 2000) },
    });
    const subscriber = publisher.duplicate();
    const link = new RedisLink(options, publisher, subscriber);
    for (const client of [publisher, subscriber]) {
      client.on('error', (error: Error) =>
        options.log.warn({ problem: error.message }, 'the link to Redis is down'),
      );
      client.on('reconnecting', () => {
        for (const listener of link.breaks) listener();
      });
    }
    publisher.on('ready', () => void link.live());
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const where = new URL(options.url).host;
      timer = setTimeout(
        () => reject(new Error(`the Redis server at ${where} cannot be reached`)),
        CONNECT_MS,
      );
    });
    try {
      await Promise.race([Promise.all([publisher.connect(), subscriber.connect()]), late]);
    } catch (error) {
      await link.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    await subscriber.subscribe(link.channel(options.instance), (text) => link.take(text));
    await link.live();
    return link;
  }

  send(to: string, frame: Frame): void {
    this.publisher.publish(this.channel(to), JSON.stringify(frame)).catch((error: unknown) => {
      this.options.log.debug(
        { problem: error instanceof Error ? error.message : 'unknown' },
        'a frame was lost',
      );
      for (const listener of this.breaks) listener();
    });
  }

  async isAlive(instance: string): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('Redis does not answer')), LOOKUP_MS);
      timer.unref();
    });
    try {
      return (await Promise.race([this.publisher.exists(this.key(instance)), late])) === 1;
    } finally {
      clearTimeout(timer);
    }
  }

  onFrame(listener: (frame: Frame) => void): void {
    this.frames.push(listener);
  }

  onBreak(listener: () => void): void {
    this.breaks.push(listener);
  }

  async close(): Promise<void> {
    clearInterval(this.beat);
    await this.publisher.del(this.key(this.options.instance)).catch(() => undefined);
    for (const client of [this.subscriber, this.publisher]) {
      try {
        client.destroy();
      } catch {
        // It never connected: there is nothing to destroy.
      }
    }
  }

  private async live(): Promise<void> {
    await this.publisher
      .set(this.key(this.options.instance), '1', { expiration: { type: 'PX', value: BELIEF_MS } })
      .catch(() => undefined);
  }

  /** Whoever else writes to the channel must not end the process, nor the connection that reads it. */
  private take(text: string): void {
    try {
      const frame = JSON.parse(text) as Frame;
      for (const listener of this.frames) listener(frame);
    } catch (error) {
      const problem = error instanceof Error ? error.message : 'unknown';
      this.options.log.warn({ problem }, 'a message between instances could not be read');
    }
  }

  private channel(instance: string): string {
    return `${this.options.prefix}:to:${instance}`;
  }

  private key(instance: string): string {
    return `${this.options.prefix}:alive:${instance}`;
  }
}

async function loadRedis(): Promise<CreateClient> {
  try {
    const { createClient } = await import('redis');
    return createClient;
  } catch (error) {
    throw new Error('several instances need the package "redis", which is not installed: npm install redis', {
      cause: error,
    });
  }
}

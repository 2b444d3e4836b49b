import { GATEWAY_CODE, GatewayError } from '../errors/gateway-error.js';
import type { Message } from '../jsonrpc/message.js';
import type { EraResolver } from '../upstreams/era-resolver.js';
import type { Era, Exchange, Introduction, Relay, ServerDescription, UpstreamHalf } from './exchange.js';
import { type Outcome, failure } from './outcome.js';

/** What runs an exchange whose client and upstream are of different eras. */
export interface Bridge {
  introduction(introduction: Introduction): Introduction;
  run(exchange: Exchange, upstream: UpstreamHalf): Promise<Outcome>;
  notify(from: Introduction, message: Message, upstream: UpstreamHalf): Promise<void>;
  attach(from: Introduction, upstream: UpstreamHalf): void;
}

/**
 * One upstream as its clients see it. Same era on both sides is the first branch and touches no payload; everything
 * else goes over the bridge for that client's era.
 */
export class UpstreamRelay implements Relay {
  private calls = 0;

  constructor(
    readonly name: string,
    private readonly halves: Readonly<Record<Era, UpstreamHalf>>,
    private readonly eras: EraResolver,
    /** By the era of the client. */
    private readonly bridges: Readonly<Record<Era, Bridge>>,
    /** Calls in progress at once; more are refused instead of queued. */
    private readonly maxCalls: number,
    /** What a refused caller is told, in seconds. */
    private readonly retryAfterSeconds: number,
  ) {}

  async introduce(introduction: Introduction): Promise<ServerDescription> {
    const era = await this.eras.resolve(introduction);
    try {
      return await this.halves[era].introduce(this.inWordsOf(era, introduction));
    } catch (error) {
      // A refused introduction may mean that the upstream has changed its era: look once more, then believe it.
      if (!(error instanceof GatewayError) || !isProtocolRefusal(error)) throw error;
      const now = await this.eras.reconsider(era, introduction, error.message);
      if (now === era) throw error;
      return this.halves[now].introduce(this.inWordsOf(now, introduction));
    }
  }

  async run(exchange: Exchange): Promise<Outcome> {
    if (this.calls >= this.maxCalls) return failure(this.overloaded());
    this.calls++;
    try {
      const introduction = introductionOf(exchange);
      const era = await this.eras.resolve(introduction);
      const outcome = await this.runOn(era, exchange);
      if (outcome.kind !== 'failed' || outcome.contradiction === undefined || exchange.signal.aborted)
        return outcome;
      const now = await this.eras.reconsider(era, introduction, outcome.contradiction);
      // The request provably did not run, so running it in the other era runs it once.
      return now === era ? outcome : await this.runOn(now, exchange);
    } catch (error) {
      if (error instanceof GatewayError) return failure(error);
      throw error;
    } finally {
      this.calls--;
    }
  }

  private overloaded(): GatewayError {
    return new GatewayError(
      GATEWAY_CODE.overloaded,
      `${this.maxCalls} calls to the upstream ${this.name} are in progress, which is its limit`,
      { status: 503, headers: { 'Retry-After': String(this.retryAfterSeconds) } },
    );
  }

  async notify(from: Introduction, message: Message): Promise<void> {
    const era = await this.eras.resolve(from);
    const half = this.halves[era];
    if (era === from.era) await half.notify(from, message);
    else await this.bridges[from.era].notify(from, message, half);
  }

  attach(from: Introduction): void {
    void this.eras.resolve(from).then(
      (era) => {
        const half = this.halves[era];
        if (era === from.era) half.attach(from);
        else this.bridges[from.era].attach(from, half);
      },
      // Nobody waits for this: the stream simply carries nothing until the upstream is there again.
      () => undefined,
    );
  }

  private runOn(era: Era, exchange: Exchange): Promise<Outcome> {
    const half = this.halves[era];
    return era === exchange.era ? half.run(exchange) : this.bridges[exchange.era].run(exchange, half);
  }

  private inWordsOf(era: Era, introduction: Introduction): Introduction {
    return era === introduction.era
      ? introduction
      : this.bridges[introduction.era].introduction(introduction);
  }
}

/** Who is behind an exchange, for everything but the exchange itself. */
export function introductionOf(exchange: Exchange): Introduction {
  const { era, client, caller, headers } = exchange;
  return { era, client, caller, headers };
}

function isProtocolRefusal(error: GatewayError): boolean {
  return error.code >= -32768 && error.code <= -32000 && error.status !== 401 && error.status !== 403;
}

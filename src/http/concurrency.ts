import { GATEWAY_CODE, GatewayError } from '../errors/gateway-error.js';
import type { HttpLimits } from './options.js';

/** The place one request takes while it is in progress. */
export interface Slot {
  /**
   * Goes from receiving to running, now that the body is known.
   * @throws GatewayError 503 or 429
   */
  run(body: string): void;
  /** Gives the place back. */
  release(): void;
}

type Full = 'overall' | 'principal';

/** How many places for receiving there are for each place for running. */
const HEADROOM = 2;

/** Long-lived streams allowed for each concurrent request when no number is configured. */
const STREAMS_PER_REQUEST = 8;

/** A count with a bound over all keys and one for each key. */
class Cap {
  readonly #byKey = new Map<string, number>();
  #total = 0;

  constructor(
    readonly overall: number,
    readonly perKey: number,
  ) {}

  /** Takes a place; names the bound that is reached instead, if one is. */
  take(key: string): Full | undefined {
    const own = this.#byKey.get(key) ?? 0;
    if (this.#total >= this.overall) return 'overall';
    if (own >= this.perKey) return 'principal';
    this.#total += 1;
    this.#byKey.set(key, own + 1);
    return undefined;
  }

  give(key: string): void {
    this.#total -= 1;
    const own = (this.#byKey.get(key) ?? 1) - 1;
    if (own === 0) this.#byKey.delete(key);
    else this.#byKey.set(key, own);
  }
}

/**
 * Caps on what is in progress. A request counts twice: when it starts to arrive, so that bodies in memory are
 * bounded, and when it runs. Between the two bounds there is room for messages that are no requests: with all
 * places taken by calls that wait for an answer of the client, or that it wants to cancel, refusing those messages
 * would keep the places taken.
 */
export class Concurrency {
  readonly #arriving: Cap;
  readonly #running: Cap;
  readonly #streams: Cap;
  readonly #retryAfterSeconds: number;

  constructor(limits: HttpLimits) {
    const { concurrentRequests, concurrentPerPrincipal } = limits;
    const maxStreams = limits.maxStreams ?? STREAMS_PER_REQUEST * concurrentRequests;
    const share = Math.min(1, concurrentPerPrincipal / concurrentRequests);
    this.#arriving = new Cap(HEADROOM * concurrentRequests, HEADROOM * concurrentPerPrincipal);
    this.#running = new Cap(concurrentRequests, concurrentPerPrincipal);
    this.#streams = new Cap(maxStreams, Math.max(1, Math.ceil(maxStreams * share)));
    this.#retryAfterSeconds = limits.retryAfterSeconds;
  }

  /** Lets a request start to arrive. @throws GatewayError 503 or 429 */
  enter(key: string): Slot {
    const release = this.#take(this.#arriving, key);
    let stop: (() => void) | undefined;
    return {
      run: (body) => {
        const full = this.#running.take(key);
        if (full === undefined) stop = () => this.#running.give(key);
        else if (mayBeRequest(body)) throw this.#overloaded(full);
      },
      release: once(() => {
        release();
        stop?.();
      }),
    };
  }

  /** Lets a long-lived stream open. @returns gives the place back @throws GatewayError 503 or 429 */
  enterStream(key: string): () => void {
    return once(this.#take(this.#streams, key));
  }

  #take(cap: Cap, key: string): () => void {
    const full = cap.take(key);
    if (full !== undefined) throw this.#overloaded(full);
    return () => cap.give(key);
  }

  #overloaded(full: Full): GatewayError {
    const [status, message] =
      full === 'overall'
        ? [
            503,
            'The gateway has as many requests in progress as it takes (concurrentRequests); try again later.',
          ]
        : [
            429,
            'You have as many requests in progress as one client may (concurrentPerPrincipal); try again later.',
          ];
    const headers = { 'Retry-After': String(this.#retryAfterSeconds) };
    return new GatewayError(GATEWAY_CODE.overloaded, message, { status, headers });
  }
}

/** A request has both members. Looked for as text: it decides about a little headroom only, and must cost little. */
function mayBeRequest(body: string): boolean {
  return body.includes('"method"') && body.includes('"id"');
}

function once(action: () => void): () => void {
  let open = true;
  return () => {
    if (open) action();
    open = false;
  };
}

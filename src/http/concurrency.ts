import { GATEWAY_CODE, GatewayError } from '../errors/gateway-error.js';
import type { HttpLimits } from './options.js';
import { Cap, type Full } from './cap.js';

/** How many places for arriving there are for each place for running. */
const HEADROOM = 2;

/** Long-lived streams allowed for each concurrent request when no number is configured. */
const STREAMS_PER_REQUEST = 8;

/**
 * Caps on what is in progress. A request counts when it arrives, so that bodies in memory are bounded, and again
 * when it runs. The room between the two bounds is for messages that are no requests: with all places taken by
 * calls that wait for the client's answer, or that it wants to cancel, refusing those messages would keep the
 * places taken. Long-lived streams do little and are many, so they run under a cap of their own.
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
    this.#arriving = new Cap('requests', HEADROOM * concurrentRequests, HEADROOM * concurrentPerPrincipal);
    this.#running = new Cap('requests', concurrentRequests, concurrentPerPrincipal);
    this.#streams = new Cap('streams', maxStreams, Math.ceil(maxStreams * share));
    this.#retryAfterSeconds = limits.retryAfterSeconds;
  }

  /**
   * Lets a request arrive.
   * @param key - whom it counts for
   * @param longLived - whether it opens a stream that may stay for hours
   * @throws GatewayError 503 when the gateway has no place, 429 when this key has none
   */
  enter(key: string, longLived: boolean): Slot {
    this.take(this.#arriving, key);
    return new Slot(this, key, longLived);
  }

  /** The cap a request that runs counts against; undefined for what needs no place. */
  runningCap(key: string, longLived: boolean, body: string): Cap | undefined {
    if (longLived) return this.#streams;
    return this.#running.full(key) === undefined || mayBeRequest(body) ? this.#running : undefined;
  }

  /** Takes a place. @throws GatewayError 503 or 429 */
  take(cap: Cap, key: string): void {
    const full = cap.full(key);
    if (full !== undefined) throw this.#overloaded(cap, full);
    cap.take(key);
  }

  /** Gives the place of a request that has arrived back. */
  arrived(key: string): void {
    this.#arriving.release(key);
  }

  #overloaded(cap: Cap, full: Full): GatewayError {
    const status = full === 'overall' ? 503 : 429;
    const whose = full === 'overall' ? 'The gateway has' : 'You have';
    const message = `${whose} as many ${cap.what} in progress as the limit allows; try again later.`;
    const headers = { 'Retry-After': String(this.#retryAfterSeconds) };
    return new GatewayError(GATEWAY_CODE.overloaded, message, { status, headers });
  }
}

/** The place one request takes from its arrival to the end of its answer. */
export class Slot {
  readonly #concurrency: Concurrency;
  readonly #key: string;
  readonly #longLived: boolean;
  #arriving = true;
  #running: Cap | undefined;
  #released = false;

  constructor(concurrency: Concurrency, key: string, longLived: boolean) {
    this.#concurrency = concurrency;
    this.#key = key;
    this.#longLived = longLived;
  }

  /**
   * Goes from arriving to running, now that the body is here.
   * @throws GatewayError 503 or 429
   */
  run(body: string): void {
    // The client may have gone while its body was read; a place taken now would never be given back.
    if (this.#released) return;
    const cap = this.#concurrency.runningCap(this.#key, this.#longLived, body);
    if (cap === undefined) return;
    this.#concurrency.take(cap, this.#key);
    this.#running = cap;
    if (this.#longLived) this.#leaveArrival();
  }

  /** Gives the place back. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#leaveArrival();
    this.#running?.release(this.#key);
    this.#running = undefined;
  }

  #leaveArrival(): void {
    if (!this.#arriving) return;
    this.#arriving = false;
    this.#concurrency.arrived(this.#key);
  }
}

/** A request has both members. Looked for as text: it decides about a little headroom only, and must cost little. */
function mayBeRequest(body: string): boolean {
  return body.includes('"method"') && body.includes('"id"');
}

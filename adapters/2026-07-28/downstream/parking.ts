import { randomBytes } from 'node:crypto';
import { now } from '../../../src/clock/clock.js';
import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';

const HANDLE = 'gangway.';

/** The instance a `requestState` was made by, if it is a handle of this kind of gateway. */
export function handleOwner(state: string): string | undefined {
  return state.startsWith(HANDLE) ? state.slice(HANDLE.length).split('.', 1)[0] : undefined;
}

/** An exchange that waits for its client to come back. */
export interface Parked {
  readonly principalKey: string;
  /** Whose share it counts against. */
  readonly ownerKey: string;
  /** Bytes it holds, about. */
  readonly size: number;
  /** Nobody came back in time. */
  expire(): void;
}

export interface ParkingLimits {
  /** How long a question may stay unanswered, in milliseconds. */
  readonly parkMs: number;
  readonly perPrincipal: number;
  readonly bytesPerPrincipal: number;
  /** `Retry-After` of a refusal, in seconds. */
  readonly retryAfterSeconds: number;
}

interface Place<T> {
  readonly parked: T;
  size: number;
  readonly timer: NodeJS.Timeout;
}

/** What one owner holds. */
interface Share {
  count: number;
  bytes: number;
}

/**
 * The exchanges that ended a response with `input_required`, by the handle the client was given as `requestState`:
 * unguessable, good for one use, bounded in number, bytes and time.
 * @see /specification/2026-07-28/basic/patterns/mrtr#server-requirements-basic-workflow
 */
export class Parking<T extends Parked> {
  /** Names this run of this gateway: a handle of another is told apart from a server's own state by it. */
  private readonly prefix: string;
  private readonly places = new Map<string, Place<T>>();
  private readonly shares = new Map<string, Share>();

  /** @param instance names this run of this process among all there are and were */
  constructor(
    instance: string,
    private readonly limits: ParkingLimits,
  ) {
    this.prefix = `${HANDLE}${instance}.`;
  }

  get size(): number {
    return this.places.size;
  }

  /** Everything that waits. */
  *[Symbol.iterator](): Iterator<T> {
    for (const { parked } of this.places.values()) yield parked;
  }

  /** Whether a `requestState` is one of this gateway's handles, valid or not. */
  isHandle(state: string): boolean {
    return state.startsWith(this.prefix);
  }

  /**
   * Parks an exchange.
   * @param since when its oldest question was asked, in milliseconds since the epoch: coming back without an answer
   * gives no new time to answer
   * @throws GatewayError the owner's share is used up
   */
  park(parked: T, since: number): string {
    const { perPrincipal, bytesPerPrincipal, parkMs, retryAfterSeconds } = this.limits;
    const { size, ownerKey } = parked;
    const share = this.shares.get(ownerKey) ?? { count: 0, bytes: 0 };
    if (share.count >= perPrincipal || share.bytes + size > bytesPerPrincipal) {
      throw new GatewayError(
        GATEWAY_CODE.overloaded,
        `too many calls of this caller wait for answers (limit ${perPrincipal}, ${bytesPerPrincipal} bytes)`,
        { status: 429, headers: { 'Retry-After': String(retryAfterSeconds) } },
      );
    }
    const handle = this.prefix + randomBytes(20).toString('base64url');
    const timer = setTimeout(
      () => {
        this.remove(handle);
        parked.expire();
      },
      Math.max(0, since + parkMs - now()),
    );
    timer.unref();
    this.places.set(handle, { parked, size, timer });
    share.count++;
    share.bytes += size;
    this.shares.set(ownerKey, share);
    return handle;
  }

  /** Counts anew what a parked exchange holds. Returns false when that is more than its owner may. */
  resize(handle: string): boolean {
    const place = this.places.get(handle);
    const share = place && this.shares.get(place.parked.ownerKey);
    if (place === undefined || share === undefined) return true;
    const { size } = place.parked;
    if (size > place.size && share.bytes + size - place.size > this.limits.bytesPerPrincipal) return false;
    share.bytes += size - place.size;
    place.size = size;
    return true;
  }

  /** Looks without taking. An exchange of another principal does not exist. */
  find(handle: string, principalKey: string): T | undefined {
    const place = this.places.get(handle);
    return place?.parked.principalKey === principalKey ? place.parked : undefined;
  }

  /** Uses a handle up. */
  take(handle: string): void {
    this.remove(handle);
  }

  /** Ends everything that waits. */
  close(): void {
    for (const [handle, { parked }] of [...this.places]) {
      this.remove(handle);
      parked.expire();
    }
  }

  private remove(handle: string): void {
    const place = this.places.get(handle);
    if (place === undefined) return;
    clearTimeout(place.timer);
    this.places.delete(handle);
    const { ownerKey } = place.parked;
    const share = this.shares.get(ownerKey);
    if (share === undefined) return;
    share.count--;
    share.bytes -= place.size;
    if (share.count === 0) this.shares.delete(ownerKey);
  }
}

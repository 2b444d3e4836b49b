import { randomBytes } from 'node:crypto';
import { GATEWAY_CODE, GatewayError } from '../../../src/errors/gateway-error.js';

const HANDLE = 'gangway.';

/** The instance a `requestState` was made by, if it is a handle of this kind of gateway. */
export function handleOwner(state: string): string | undefined {
  return state.startsWith(HANDLE) ? state.slice(HANDLE.length).split('.', 1)[0] : undefined;
}

/** An exchange that waits for its client to come back. */
export interface Parked {
  readonly principalKey: string;
  /** Bytes it holds, about. */
  readonly size: number;
  /** Nobody came back in time. */
  expire(): void;
}

export interface ParkingLimits {
  /** How long an exchange waits, in milliseconds. */
  readonly parkMs: number;
  readonly perPrincipal: number;
  readonly bytesPerPrincipal: number;
}

interface Place<T> {
  readonly parked: T;
  readonly size: number;
  readonly timer: NodeJS.Timeout;
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
  private readonly used = new Map<string, { count: number; bytes: number }>();

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

  /** Whether a `requestState` is one of this gateway's handles, valid or not. */
  isHandle(state: string): boolean {
    return state.startsWith(this.prefix);
  }

  /** Parks an exchange. @throws GatewayError the principal's share is used up */
  park(parked: T): string {
    const { perPrincipal, bytesPerPrincipal, parkMs } = this.limits;
    const used = this.used.get(parked.principalKey) ?? { count: 0, bytes: 0 };
    if (used.count >= perPrincipal || used.bytes + parked.size > bytesPerPrincipal) {
      throw new GatewayError(
        GATEWAY_CODE.overloaded,
        `too many calls of this caller wait for answers (limit ${perPrincipal}, ${bytesPerPrincipal} bytes)`,
        { status: 429 },
      );
    }
    const handle = this.prefix + randomBytes(20).toString('base64url');
    const timer = setTimeout(() => {
      this.remove(handle);
      parked.expire();
    }, parkMs);
    timer.unref();
    this.places.set(handle, { parked, size: parked.size, timer });
    this.used.set(parked.principalKey, { count: used.count + 1, bytes: used.bytes + parked.size });
    return handle;
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
    const { principalKey } = place.parked;
    const used = this.used.get(principalKey);
    if (used === undefined || used.count <= 1) this.used.delete(principalKey);
    else this.used.set(principalKey, { count: used.count - 1, bytes: used.bytes - place.size });
  }
}

/** A seeded source of choices: the same seed makes the same choices, so that a failure can be run again. */
export class Random {
  private state: number;

  constructor(readonly seed: number) {
    this.state = seed >>> 0;
  }

  /** From 0 up to, but not including, 1 (mulberry32). */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  /** A whole number from 0 up to, but not including, `bound`. */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }
}

const SCALARS = [
  'null',
  'true',
  'false',
  '0',
  '-0',
  '1',
  '-1',
  '1.0',
  '1.10',
  '1e400',
  '9007199254740993',
  '123456789012345678901234567890',
  '""',
  '"a"',
  '"\\u0000"',
  '"\\ud800"',
  '"\u2028"',
  '"=?base64?!!?="',
  '"\\r\\nX-Evil: 1"',
  '"ünï"',
] as const;

/** Names that mean something to JavaScript or to the protocol, and some that mean nothing. */
export const KEYS = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'id',
  'method',
  '_meta',
  'progressToken',
  'requestState',
  'inputResponses',
  'cursor',
  'uri',
  'name',
  'arguments',
  'level',
  'requestId',
  '',
  'x',
] as const;

/** A random JSON value as text. */
export function jsonValue(random: Random, depth = 3): string {
  if (depth === 0 || random.chance(0.5)) return random.pick(SCALARS);
  const size = random.below(4);
  if (random.chance(0.4)) {
    return `[${Array.from({ length: size }, () => jsonValue(random, depth - 1)).join(',')}]`;
  }
  const members = Array.from(
    { length: size },
    () => `${JSON.stringify(random.pick(KEYS))}:${jsonValue(random, depth - 1)}`,
  );
  return `{${members.join(random.chance(0.1) ? ' ,\r\n' : ',')}}`;
}

/** Which bound of a cap is reached. */
export type Full = 'overall' | 'key';

/** A count with a bound over all keys and one for each key. */
export class Cap {
  readonly #byKey = new Map<string, number>();
  #total = 0;

  constructor(
    /** What is counted, for messages. */
    readonly what: string,
    readonly overall: number,
    readonly perKey: number,
  ) {}

  /** Places taken. */
  get taken(): number {
    return this.#total;
  }

  /** The bound that leaves no place for this key, if one does. */
  full(key: string): Full | undefined {
    if (this.#total >= this.overall) return 'overall';
    return (this.#byKey.get(key) ?? 0) >= this.perKey ? 'key' : undefined;
  }

  /** Takes a place, which is given back with `release`, once. */
  take(key: string): void {
    this.#total += 1;
    this.#byKey.set(key, (this.#byKey.get(key) ?? 0) + 1);
  }

  /** Gives a place back. */
  release(key: string): void {
    this.#total -= 1;
    const left = (this.#byKey.get(key) ?? 0) - 1;
    // Keys are hashes and addresses of whoever calls: kept at zero they would add up for ever.
    if (left > 0) this.#byKey.set(key, left);
    else this.#byKey.delete(key);
  }
}

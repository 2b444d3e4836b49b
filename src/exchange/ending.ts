/** The end of something, and who wants to know of it. */
export interface Ended {
  /** Whether the end has come. */
  readonly over: boolean;
  /** Calls back once at the end; at once when it has come. */
  onEnd(listener: () => void): void;
  /** The end is of no interest to this listener any more. */
  offEnd(listener: () => void): void;
}

/**
 * An end that comes once. There is one for each of thousands of idle sessions and streams, and an AbortSignal with one
 * listener takes more memory than the rest of a session.
 */
export class Ending implements Ended {
  private listeners: (() => void) | Set<() => void> | undefined;
  private reached = false;

  get over(): boolean {
    return this.reached;
  }

  onEnd(listener: () => void): void {
    const { listeners } = this;
    if (this.reached) listener();
    else if (listeners === undefined) this.listeners = listener;
    else if (listeners instanceof Set) listeners.add(listener);
    else this.listeners = new Set([listeners, listener]);
  }

  offEnd(listener: () => void): void {
    if (this.listeners === listener) this.listeners = undefined;
    else if (this.listeners instanceof Set) this.listeners.delete(listener);
  }

  /** Nobody wants to know any more. */
  forget(): void {
    this.listeners = undefined;
  }

  /** The end is here. Listeners are called in the order in which they came. */
  end(): void {
    if (this.reached) return;
    this.reached = true;
    const { listeners } = this;
    this.listeners = undefined;
    if (listeners instanceof Set) for (const listener of listeners) listener();
    else listeners?.();
  }
}

import type { UpstreamSession } from './session.js';

interface Subscription {
  users: number;
  readonly accepted: Promise<boolean>;
}

/**
 * The `resources/subscribe` calls of one session, one per uri however many want it (X24, C17).
 * @see /specification/2025-11-25/server/resources#subscriptions
 */
export class ResourceSubscriptions {
  private readonly uris = new Map<string, Subscription>();
  /** Unsubscribes under way: a new subscription of the same uri must not overtake one. */
  private readonly leaving = new Map<string, Promise<void>>();

  constructor(private readonly session: UpstreamSession) {}

  /** Joins a uri's subscription, making it if need be. Resolves with whether the upstream accepted it. */
  async join(uri: string): Promise<boolean> {
    let entry = this.uris.get(uri);
    if (entry === undefined) {
      entry = { users: 0, accepted: this.subscribe(uri) };
      this.uris.set(uri, entry);
    }
    entry.users++;
    const accepted = await entry.accepted;
    if (!accepted) this.leave(uri);
    return accepted;
  }

  /** Leaves a uri's subscription; the last one out ends it. */
  leave(uri: string): void {
    const entry = this.uris.get(uri);
    if (entry === undefined) return;
    entry.users--;
    if (entry.users > 0) return;
    this.uris.delete(uri);
    const left = this.unsubscribe(uri, entry);
    this.leaving.set(uri, left);
    void left.then(() => {
      if (this.leaving.get(uri) === left) this.leaving.delete(uri);
    });
  }

  private async subscribe(uri: string): Promise<boolean> {
    await this.leaving.get(uri);
    return this.call('resources/subscribe', uri);
  }

  private async unsubscribe(uri: string, { accepted }: Subscription): Promise<void> {
    if ((await accepted) && !this.session.ended) await this.call('resources/unsubscribe', uri);
  }

  private async call(method: string, uri: string): Promise<boolean> {
    const response = await this.session.request(method, JSON.stringify({ uri }));
    return response?.kind === 'result';
  }
}

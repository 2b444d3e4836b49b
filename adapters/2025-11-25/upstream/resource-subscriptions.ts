import type { UpstreamSession } from './session.js';

/**
 * The `resources/subscribe` calls of one session, one per uri however many want it (X24, C17).
 * @see /specification/2025-11-25/server/resources#subscriptions
 */
export class ResourceSubscriptions {
  private readonly uris = new Map<string, { users: number; accepted: Promise<boolean> }>();

  constructor(private readonly session: UpstreamSession) {}

  /** Joins a uri's subscription, making it if need be. Resolves with whether the upstream accepted it. */
  async join(uri: string): Promise<boolean> {
    let entry = this.uris.get(uri);
    if (entry === undefined) {
      entry = { users: 0, accepted: this.call('resources/subscribe', uri) };
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
    void entry.accepted.then((accepted) => {
      if (accepted && !this.session.ended && !this.uris.has(uri))
        void this.call('resources/unsubscribe', uri);
    });
  }

  private async call(method: string, uri: string): Promise<boolean> {
    const response = await this.session.request(method, JSON.stringify({ uri }));
    return response?.kind === 'result';
  }
}

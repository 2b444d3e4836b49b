import { challengeFor } from './protected-resource.js';
import type { EventSink, HttpReply, ReplyHeaders } from '../http/port.js';

/**
 * A reply that fits an upstream's refusals to the way its credential is handled (X30): a challenge of a transparent
 * upstream points at the gateway's metadata, and one that concerns the gateway's own credential never reaches a client,
 * who could not answer it.
 */
export class ChallengeReply implements HttpReply {
  constructor(
    private readonly inner: HttpReply,
    /** Where the gateway serves the metadata; undefined when it stands under the upstream's URL. */
    private readonly metadataUrl: string | undefined,
    private readonly ownCredential: boolean,
  ) {}

  get started(): boolean {
    return this.inner.started;
  }

  defer(): void {
    this.inner.defer();
  }

  get closed(): boolean {
    return this.inner.closed;
  }

  onClose(listener: () => void): void {
    this.inner.onClose(listener);
  }

  json(status: number, body: string, headers?: ReplyHeaders): void {
    const challenge = headers?.['WWW-Authenticate'];
    if (challenge === undefined) {
      this.inner.json(this.ownCredential && (status === 401 || status === 403) ? 502 : status, body, headers);
      return;
    }
    const { 'WWW-Authenticate': _challenge, ...others } = headers ?? {};
    if (this.ownCredential) this.inner.json(502, body, others);
    else if (this.metadataUrl === undefined) this.inner.json(status, body, headers);
    else {
      this.inner.json(status, body, {
        ...others,
        'WWW-Authenticate': challengeFor(challenge, this.metadataUrl),
      });
    }
  }

  empty(status: number, headers?: ReplyHeaders): void {
    this.inner.empty(status, headers);
  }

  stream(headers?: ReplyHeaders): EventSink {
    return this.inner.stream(headers);
  }
}

import type { ReplyHeaders } from '../http/port.js';

/**
 * What instances say to each other about one forwarded request. `id` names the request; the instance that took it from
 * the client is its `from`.
 */
export type Frame =
  | (Addressed & { readonly kind: 'request' } & ForwardedRequest)
  /** The owner has begun to serve. */
  | (Addressed & { readonly kind: 'taken' })
  /** A piece of a body that is too large for one frame; it comes before the frame that ends the body. */
  | (Addressed & { readonly kind: 'part'; readonly text: string })
  | (Addressed & {
      readonly kind: 'json';
      readonly status: number;
      readonly body: string;
      readonly headers?: ReplyHeaders;
    })
  | (Addressed & { readonly kind: 'empty'; readonly status: number; readonly headers?: ReplyHeaders })
  | (Addressed & { readonly kind: 'stream'; readonly headers?: ReplyHeaders })
  | (Addressed & { readonly kind: 'data'; readonly text: string })
  /** So many characters of the stream were handed to the client. */
  | (Addressed & { readonly kind: 'written'; readonly size: number })
  | (Addressed & { readonly kind: 'end' })
  | (Addressed & { readonly kind: 'destroy' })
  /** The client went away. */
  | (Addressed & { readonly kind: 'closed' });

interface Addressed {
  readonly id: string;
  readonly from: string;
}

/** A client's request as one instance hands it to another. The credential stays where it arrived. */
export interface ForwardedRequest {
  readonly upstream: string;
  readonly method: 'POST' | 'GET' | 'DELETE';
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly remoteAddress: string;
  readonly principal: { readonly key: string; readonly anonymous: boolean };
  readonly body: string;
}

/** Carries frames between instances, in order, at most once. */
export interface Link {
  send(to: string, frame: Frame): void;
  /** Whether an instance has shown signs of life lately. @throws Error the link is down */
  isAlive(instance: string): Promise<boolean>;
  onFrame(listener: (frame: Frame) => void): void;
  /** Calls back whenever the link broke: frames may have been lost. */
  onBreak(listener: () => void): void;
  close(): Promise<void>;
}

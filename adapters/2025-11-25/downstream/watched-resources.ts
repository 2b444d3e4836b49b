import { keptText } from '../../../src/exchange/kept-text.js';

/** Resources one session may be subscribed to, and how long their URIs may be together, in UTF-16 units. */
const MAX_URIS = 1000;
const MAX_LENGTH = 1024 * 1024;

/** The resources a client has subscribed to: bounded, as they are kept and told to the upstream as long as its session. */
export class WatchedResources {
  private uris: Set<string> | undefined;
  private length = 0;

  hasRoomFor(uri: string): boolean {
    const { uris } = this;
    if (uris === undefined || uris.has(uri)) return uri.length <= MAX_LENGTH;
    return uris.size < MAX_URIS && this.length + uri.length <= MAX_LENGTH;
  }

  add(uri: string): void {
    const uris = (this.uris ??= new Set<string>());
    if (uris.has(uri)) return;
    uris.add(keptText(uri));
    this.length += uri.length;
  }

  delete(uri: string): void {
    if (this.uris?.delete(uri) === true) this.length -= uri.length;
  }

  get all(): ReadonlySet<string> {
    return this.uris ?? NONE;
  }
}

const NONE: ReadonlySet<string> = new Set();

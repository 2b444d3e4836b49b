import { keptText } from '../../../src/exchange/kept-text.js';

/** How long a URI may be on average when there are as many as may be, in UTF-16 units. */
const USUAL_LENGTH = 1024;

/** The resources a client has subscribed to: bounded, as they are kept and told to the upstream as long as its session. */
export class WatchedResources {
  private uris: Set<string> | undefined;
  private length = 0;

  /** @param limit how many there may be */
  constructor(private readonly limit: number) {}

  hasRoomFor(uri: string): boolean {
    const { uris } = this;
    if (uris?.has(uri) === true) return true;
    return (uris?.size ?? 0) < this.limit && this.length + uri.length <= this.limit * USUAL_LENGTH;
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

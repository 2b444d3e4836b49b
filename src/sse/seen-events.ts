/** Ids remembered for one stream: more than any sensible server replays. */
const MAX_IDS = 2000;

/**
 * The event ids a stream has brought. A server that resumes a stream sometimes begins too early, and what it says a
 * second time must not reach anybody a second time.
 *
 * Only ids of earlier connections count: a server that gives all its events one id breaks the specification, but on
 * one connection its events are plainly different ones.
 */
export class SeenEvents {
  private readonly earlier = new Set<string>();
  private present: string[] = [];

  /** A new connection begins. */
  connect(): void {
    for (const id of this.present) {
      this.earlier.delete(id);
      this.earlier.add(id);
    }
    this.present = [];
    for (const id of this.earlier) {
      if (this.earlier.size <= MAX_IDS) break;
      this.earlier.delete(id);
    }
  }

  /** Takes note of an event; returns whether an earlier connection brought it already. */
  repeats(id: string | undefined): boolean {
    if (id === undefined || id === '') return false;
    if (this.earlier.has(id)) return true;
    this.present.push(id);
    if (this.present.length > MAX_IDS) this.present.shift();
    return false;
  }
}

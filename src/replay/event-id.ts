/** A place in one stream: events with a greater sequence number came later. */
export interface Cursor {
  readonly stream: number;
  readonly sequence: number;
}

/**
 * Event ids: epoch, stream, sequence and a check value, in base 36.
 *
 * The epoch is new whenever the log is, so an id from another run never hits by accident. The check value makes a
 * mistyped or truncated id an unknown one instead of another event's. It is no signature: what protects a stream is
 * that ids are looked up within one session only.
 */
export class EventIds {
  /** @param epoch visible ASCII without "." */
  constructor(private readonly epoch: string) {}

  print(cursor: Cursor): string {
    const place = `${this.epoch}.${cursor.stream.toString(36)}.${cursor.sequence.toString(36)}`;
    return `${place}.${check(place)}`;
  }

  /** The place an id names; undefined when it is malformed or of another epoch. */
  read(id: string): Cursor | undefined {
    const match = /^([^.]{1,64})\.([0-9a-z]{1,11})\.([0-9a-z]{1,11})\.[0-9a-z]{1,7}$/.exec(id);
    if (match === null || match[1] !== this.epoch) return undefined;
    const cursor = { stream: parseInt(match[2] ?? '', 36), sequence: parseInt(match[3] ?? '', 36) };
    // Printing it again is the strictest check: leading zeros and upper case are no ids of ours.
    return this.print(cursor) === id ? cursor : undefined;
  }
}

/** FNV-1a, 32 bits. */
function check(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return (hash >>> 0).toString(36);
}

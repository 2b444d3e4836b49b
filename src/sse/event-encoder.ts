const LINE_BREAKS = /[\r\n]+/g;
const SEPARATORS = /[\u2028\u2029]/g;

/**
 * One SSE block carrying a JSON text.
 *
 * In a valid JSON text raw CR and LF stand between tokens only, where they mean nothing, but in SSE they would end
 * the `data` line. U+2028/2029 stand inside strings only, and line readers of some peers split there.
 * @param id event id; the caller guarantees visible ASCII
 */
export function encodeEvent(json: string, id?: string): string {
  let data = json;
  if (data.includes('\n') || data.includes('\r')) data = data.replace(LINE_BREAKS, '');
  if (SEPARATORS.test(data)) {
    data = data.replace(SEPARATORS, (c) => (c === '\u2028' ? '\\u2028' : '\\u2029'));
  }
  SEPARATORS.lastIndex = 0;
  return id === undefined
    ? `event: message\ndata: ${data}\n\n`
    : `id: ${id}\nevent: message\ndata: ${data}\n\n`;
}

/**
 * A block that moves the client's cursor and carries nothing, so that it can resume from the very beginning; it also
 * says how long to wait before doing so.
 * @param retryMs milliseconds
 * @see /specification/2025-11-25/basic/transports#sending-messages-to-the-server
 */
export function encodePriming(id: string, retryMs: number): string {
  return `id: ${id}\nretry: ${retryMs}\ndata: \n\n`;
}

/** A block that tells the client how long to wait before it reconnects. @param ms milliseconds */
export function encodeRetry(ms: number): string {
  return `retry: ${ms}\n\n`;
}

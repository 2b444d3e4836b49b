import { mediaType, readResponse } from '../../../src/upstreams/response-reader.js';
import type { UpstreamSession } from './session.js';

/**
 * Whether the upstream opens a stream on GET. Only two answers say something: an event stream, and 405.
 * @param timeoutMs how long the head of the answer is waited for, in milliseconds
 * @returns undefined when the upstream did neither
 * @see /specification/2025-11-25/basic/transports#listening-for-messages-from-the-server
 */
export async function offersServerStream(
  session: UpstreamSession,
  timeoutMs: number,
): Promise<boolean | undefined> {
  const { 'content-type': _type, ...headers } = session.headers(session.caller);
  headers['accept'] = 'text/event-stream';
  let offers: boolean | undefined;
  let answered = (): void => undefined;
  const head = new Promise<void>((resolve) => (answered = resolve));
  const reading = readResponse(
    session.context.http,
    { method: 'GET', headers },
    {
      onHead: (seen) => {
        if (seen.status === 405) offers = false;
        else if (seen.status === 200 && mediaType(seen) === 'text/event-stream') offers = true;
        answered();
      },
      onText: () => undefined,
    },
    { maxBytes: session.context.config.limits.upstreamMessageBytes },
  );
  const timer = setTimeout(answered, timeoutMs);
  await Promise.race([head, reading.done]);
  clearTimeout(timer);
  reading.abort();
  return offers;
}

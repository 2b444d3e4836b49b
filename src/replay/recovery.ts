import { GATEWAY_CODE } from '../errors/gateway-error.js';
import { printError } from '../jsonrpc/print.js';
import type { ReplayBuffer } from './replay-buffer.js';
import type { StoredStream } from './store.js';
import type { StreamLog } from './stream-log.js';

const STOPPED = 'the gateway stopped while the request was running; it may or may not have run';
const UNREADABLE = 'the record of the response cannot be read; the request may or may not have run';

/**
 * Takes over a stream whose process is gone. The calls on it died with that process, so each request that has no
 * response gets an error under its own id behind what is there, and its client, which may be waiting, is answered.
 * Undefined when the stream cannot be read: its ids are then unknown, and a client that shows one is told so.
 */
export function recoverStream(buffer: ReplayBuffer, stored: StoredStream): StreamLog | undefined {
  if (!stored.readable) {
    buffer.record({ kind: 'forget', stream: stored.id });
    return undefined;
  }
  const { damaged } = stored;
  const stream = buffer.restore(asFound(stored));
  if (damaged) {
    buffer.record({ kind: 'cut', stream: stored.id, after: stored.events.at(-1)?.sequence ?? 0 });
  }
  // Nobody waits for the answer to a question of a call that is dead.
  for (const event of stored.events) if (event.request === undefined) stream.unpin(event);
  if (stored.kind === 'standalone') return stream;
  if (stored.open.length === 0 && !damaged) {
    if (stored.endedAt === undefined) stream.finish();
    return stream;
  }
  for (const request of stored.open) {
    stream.append(printError(request, GATEWAY_CODE.outcomeUnknown, damaged ? UNREADABLE : STOPPED), {
      request,
    });
  }
  stream.finish();
  return stream;
}

/** The stream with what is to be believed of it before anything is added. */
function asFound(stored: StoredStream): StoredStream {
  if (stored.kind === 'standalone') {
    // A client that resumes before the unreadable part is told of everything that may have changed.
    return stored.damaged ? { ...stored, lastLost: stored.last } : stored;
  }
  if (stored.open.length === 0 && !stored.damaged) return stored;
  const { endedAt: _endedAt, ...unfinished } = stored;
  return unfinished;
}

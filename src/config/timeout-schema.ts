import { z } from 'zod';
import { milliseconds } from './quantity.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** How long the gateway waits, for what. */
export const timeoutSchema = z
  .strictObject({
    connectMs: milliseconds(
      5 * SECOND,
      'Opening a connection to an upstream, TLS included, in milliseconds.',
    ),
    callMs: milliseconds(
      5 * MINUTE,
      'A call without any sign of life from the upstream, in milliseconds. Each progress notification starts it again.',
    ),
    callMaxMs: milliseconds(1 * HOUR, 'A call in total, however much progress it reports, in milliseconds.'),
    probeMs: milliseconds(
      5 * SECOND,
      'Answer of an upstream to the question which era it speaks, in milliseconds.',
    ),
    initializeMs: milliseconds(15 * SECOND, 'Answer of a legacy upstream to `initialize`, in milliseconds.'),
    questionMs: milliseconds(
      10 * MINUTE,
      "A client's answer to a question (elicitation, sampling, roots), in milliseconds.",
    ),
    parkMs: milliseconds(
      5 * MINUTE,
      "A modern client's retry with its answers, in milliseconds. Later the call is cancelled upstream.",
    ),
    streamCommitMs: milliseconds(
      5 * SECOND,
      'After this long without a message the answer is committed to 200 and an event stream, so that intermediaries see bytes, in milliseconds.',
    ),
    keepAliveMs: milliseconds(
      15 * SECOND,
      'Longest silence on an open stream before a comment, in milliseconds.',
    ),
    stallMs: milliseconds(
      1 * MINUTE,
      'A client that takes no byte of what waits for it is cut off after this long, in milliseconds. A legacy client can resume; the call of a modern one is cancelled.',
    ),
    upstreamSessionIdleMs: milliseconds(
      10 * MINUTE,
      'An unused session with a legacy upstream is closed after this long, in milliseconds.',
    ),
    eraTtlMs: milliseconds(
      1 * HOUR,
      'How long the verdict on the era of an upstream holds, in milliseconds.',
    ),
    eraRetryMs: milliseconds(
      1 * SECOND,
      'Pause before an upstream without a verdict is asked again, in milliseconds.',
    ),
    bodyMs: milliseconds(30 * SECOND, 'Arrival of a whole request body from a client, in milliseconds.'),
    shutdownMs: milliseconds(
      10 * SECOND,
      'How long a stopped gateway lets requests in progress come to an end, in milliseconds. New ones get 503 meanwhile; what is not done then gets -31012.',
      0,
    ),
  })
  .prefault({})
  .describe('How long the gateway waits.');

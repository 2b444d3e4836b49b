import { z } from 'zod';
import { bytes, count, KIB, MIB } from './quantity.js';

/** What one client, or all of them together, may use. */
export const limitSchema = z
  .strictObject({
    bodyBytes: bytes(4 * MIB, 'Largest request body from a client, in bytes. Larger: 413.'),
    upstreamMessageBytes: bytes(32 * MIB, 'Largest single message from an upstream, in bytes.'),
    jsonDepth: count(512, 'Deepest nesting of a JSON message.', 1, 100_000),
    headerBytes: bytes(32 * KIB, 'All request headers of a client together, in bytes. More: 431.'),
    headerCount: count(100, 'Request headers from a client.', 1, 2000),
    batchSize: count(50, 'Messages in one JSON-RPC batch, where the revision has batches.'),
    concurrentRequests: count(2000, 'Requests in progress at one time, over all clients. More: 503.'),
    concurrentPerPrincipal: count(500, 'Requests in progress at one time for one principal. More: 429.'),
    detachedPerPrincipal: count(
      50,
      'Calls of one principal that run on while their client is disconnected. Above it a call is cancelled upstream.',
      0,
    ),
    streamBufferBytes: bytes(
      1 * MIB,
      'Bytes waiting for one slow reader of a stream before it is cut off; it can resume.',
    ),
    retryAfterSeconds: count(5, '`Retry-After` on 429 and 503, in seconds.', 1, 86_400),
    rounds: count(16, 'Rounds of questions that one call may ask.'),
    parkedPerPrincipal: count(100, 'Calls of one principal that wait for answers to their questions.'),
    parkedBytesPerPrincipal: bytes(8 * MIB, 'Memory of those waiting calls, in bytes per principal.'),
    openQuestions: count(
      100,
      'Questions of one call of a legacy upstream that may be open at one time; outside any call ten times as many per session. More are refused.',
    ),
    subscribedResources: count(
      1000,
      'Resources that one session, or one subscription of a modern client, may watch, with URIs of 1,024 characters on average. More: -31006.',
    ),
    clientDescriptionCharacters: count(
      128 * KIB,
      '`clientInfo` and capabilities of a client together, in characters. More: -32602.',
      1024,
    ),
    upstreamSessionsPerPrincipal: count(
      64,
      'Sessions with legacy upstreams held for one principal (for one address, if anonymous). The least recently used idle one is closed first.',
    ),
  })
  .prefault({})
  .describe('Bounds on what clients and upstreams may use.');

import { refusal } from './refusal.js';

const JSON_TYPE = 'application/json';
const STREAM_TYPE = 'text/event-stream';
/** What nearly every client sends. */
const USUAL = `${JSON_TYPE}, ${STREAM_TYPE}`;

/**
 * Checks that the client can read what may be answered: JSON or a stream on POST, a stream on GET. A missing
 * header accepts anything, as in HTTP at large.
 * @see /specification/2026-07-28/basic/transports/streamable-http#sending-messages
 * @throws GatewayError 406
 */
export function checkAccept(method: 'POST' | 'GET', accept: string | undefined): void {
  if (accept === undefined || accept === USUAL) return;
  const ranges = acceptedRanges(accept);
  if (!covers(ranges, STREAM_TYPE) || (method === 'POST' && !covers(ranges, JSON_TYPE))) {
    const wanted = method === 'POST' ? `${JSON_TYPE} and ${STREAM_TYPE}` : STREAM_TYPE;
    throw refusal(406, `The Accept header of a ${method} must include ${wanted}.`);
  }
}

/** The media ranges of an `Accept` header, lower case, without those refused by a weight of zero. */
function acceptedRanges(accept: string): Set<string> {
  const ranges = new Set<string>();
  for (const part of accept.toLowerCase().split(',')) {
    const [range = '', ...parameters] = part.split(';');
    if (parameters.some((parameter) => /^\s*q\s*=\s*0(?:\.0*)?\s*$/.test(parameter))) continue;
    ranges.add(range.trim());
  }
  return ranges;
}

function covers(ranges: ReadonlySet<string>, type: string): boolean {
  return ranges.has(type) || ranges.has('*/*') || ranges.has(`${type.slice(0, type.indexOf('/'))}/*`);
}

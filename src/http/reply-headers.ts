import type { ReplyHeaders } from './port.js';

/** What describes the message itself, and what lets pages read it: decided by this layer alone. */
const OWN = /^(?:content-type|content-length|content-encoding|transfer-encoding|trailer|access-control-.*)$/i;

/**
 * Joins the headers of an answer, one entry for each name whatever its letter case.
 * @param defaults - sent unless given otherwise
 * @param given - what the caller wants; names that are this layer's own are dropped
 * @param common - wins over both
 */
export function mergeHeaders(
  defaults: ReplyHeaders,
  given: ReplyHeaders,
  common: ReplyHeaders,
): Iterable<[string, string | readonly string[]]> {
  const merged = new Map<string, [string, string | readonly string[]]>();
  for (const entry of Object.entries(defaults)) merged.set(entry[0].toLowerCase(), entry);
  for (const entry of Object.entries(given))
    if (!OWN.test(entry[0])) merged.set(entry[0].toLowerCase(), entry);
  for (const entry of Object.entries(common)) merged.set(entry[0].toLowerCase(), entry);
  return merged.values();
}

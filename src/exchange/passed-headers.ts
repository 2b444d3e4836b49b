import type { HttpRequest } from '../http/port.js';

const TRACE_HEADERS = ['traceparent', 'tracestate', 'baggage'] as const;
const PARAM_PREFIX = 'mcp-param-';

/** The request headers that travel on for any client: the trace context. @see https://www.w3.org/TR/trace-context/ */
export function traceHeaders(request: HttpRequest): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of TRACE_HEADERS) {
    const value = request.headers[name];
    if (value !== undefined && isPlainHeaderValue(value)) passed[name] = value;
  }
  return passed;
}

/**
 * The `Mcp-Param-*` headers of a modern request: who does not recognise one forwards it. One with bytes beyond
 * ASCII is given out, too: who recognises it has to refuse it, and not to take it for a header that is not there.
 * @see /specification/2026-07-28/basic/transports/streamable-http#server-behavior-for-custom-headers
 */
export function paramHeaders(request: HttpRequest): Record<string, string> {
  const passed: Record<string, string> = {};
  const { headers } = request;
  for (const name in headers) {
    if (!name.startsWith(PARAM_PREFIX)) continue;
    const value = headers[name];
    if (value !== undefined && isHeaderValue(value)) passed[name] = value;
  }
  return passed;
}

/** What HTTP lets through, bytes beyond ASCII included: nothing that could begin another header. */
function isHeaderValue(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
}

/** Visible ASCII, space and tab: what every HTTP stack passes on as it is. */
export function isPlainHeaderValue(value: string): boolean {
  return /^[\t\x20-\x7e]*$/.test(value);
}

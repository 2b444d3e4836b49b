import { GATEWAY_CODE, GatewayError } from '../errors/gateway-error.js';
import type { ReadingRequest, ResponseEnd } from './response-reader.js';

/** Waits for a response, but no longer than `ms` milliseconds; then the request is cut. */
export async function withTimeout(
  reading: ReadingRequest,
  ms: number,
  what = 'the upstream',
): Promise<ResponseEnd> {
  let timer: NodeJS.Timeout | undefined;
  const expiry = new Promise<ResponseEnd>((resolve) => {
    timer = setTimeout(() => {
      reading.abort();
      const error = new GatewayError(GATEWAY_CODE.upstreamTimeout, `${what} did not answer within ${ms} ms`, {
        status: 504,
      });
      resolve({ kind: 'failed', error, sent: true });
    }, ms);
    timer.unref();
  });
  try {
    return await Promise.race([reading.done, expiry]);
  } finally {
    clearTimeout(timer);
  }
}

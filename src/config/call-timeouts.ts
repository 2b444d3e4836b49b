import type { GatewayConfig, UpstreamConfig } from './config.js';

/** How long a call may take. */
export interface CallTimeouts {
  /** Without a sign of life from the upstream, in milliseconds. */
  readonly callMs: number;
  /** In total, in milliseconds. */
  readonly callMaxMs: number;
}

/** The times of calls to an upstream: its own, else those of all upstreams. */
export function callTimeouts(config: GatewayConfig, upstream: UpstreamConfig): CallTimeouts {
  const { callMs, callMaxMs } = config.timeouts;
  return { callMs, callMaxMs, ...upstream.timeouts };
}

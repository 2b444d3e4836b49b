import type { GatewayConfig, UpstreamConfig } from '../config/config.js';
import type { Environment } from '../config/variable.js';
import type { UpstreamReport } from '../upstreams/report.js';

/** What the commands need of the gateway itself. Loaded on demand, so that `config` works without it. */
export interface GatewayModule {
  /** Starts to listen; `url` is the address it really got. */
  createGateway(
    config: GatewayConfig,
  ): Promise<{ readonly url: string; close(options?: { readonly graceMs?: number }): Promise<void> }>;
  /** Starts one small server of each era on loopback and gives their URLs. */
  startDemoUpstreams(): Promise<DemoUpstreams>;
  inspectUpstream(config: UpstreamConfig): Promise<UpstreamReport>;
}

export interface DemoUpstreams {
  readonly legacy: string;
  readonly modern: string;
  close(): Promise<void>;
}

/** The world around a command: replaced in tests. */
export interface Terminal {
  readonly environment: Environment;
  /** Results, for people and pipes. */
  out(text: string): void;
  /** Complaints and progress. */
  err(text: string): void;
  loadGateway(): Promise<GatewayModule>;
  /** Resolves at the first request to stop; a second one ends the process at once. */
  stopRequested(): Promise<string>;
}

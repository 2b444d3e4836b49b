import type { UpstreamConfig } from './config/config.js';
import type { UpstreamReport } from './upstreams/report.js';

export function inspectUpstream(_config: UpstreamConfig): Promise<UpstreamReport> {
  return Promise.reject(new Error('wip'));
}

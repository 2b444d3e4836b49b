import type { GatewayConfig } from '../config/config.js';
import { redactUrl } from '../config/redact.js';

/** What a person needs to see after the start: where the gateway is, and which path leads to which upstream. */
export function banner(config: GatewayConfig, url: string, version: string): string {
  const names = Object.keys(config.upstreams);
  const rows = names.map((name) => [endpoint(url, name), redactUrl(config.upstreams[name]?.url ?? '')]);
  if (config.defaultUpstream !== undefined) {
    rows.unshift([endpoint(url), `the default upstream, ${config.defaultUpstream}`]);
  }
  const width = Math.max(...rows.map(([left = '']) => left.length));
  const lines = rows.map(([left = '', right = '']) => `  ${left.padEnd(width)}  -> ${right}`);
  const outside =
    config.publicUrl === undefined ? [] : [`Clients reach it as ${redactUrl(config.publicUrl)}`];
  return ['', `mcp-gangway ${version} is ready.`, ...outside, '', ...lines, '', ''].join('\n');
}

/** The URL of an upstream's endpoint, or of the default one. */
export function endpoint(url: string, name?: string): string {
  return new URL(name === undefined ? '/mcp' : `/mcp/${name}`, url).href;
}

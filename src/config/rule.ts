import { type CallTimeouts, callTimeouts } from './call-timeouts.js';
import type { GatewayConfig } from './config.js';
import type { LocatedText } from './issue-text.js';
import { isLoopback } from './loopback.js';
import { nearest } from './nearest.js';

/** What must hold between keys, beyond the type of each: everything broken in a configuration that passed the schema. */
export function brokenRules(config: GatewayConfig): LocatedText[] {
  return [
    ...defaultExists(config),
    ...namesDiffer(config),
    ...credentialsStayHome(config),
    ...timeoutsFit(config),
  ];
}

function* defaultExists({ defaultUpstream, upstreams }: GatewayConfig): Iterable<LocatedText> {
  if (defaultUpstream === undefined || Object.hasOwn(upstreams, defaultUpstream)) return;
  const names = Object.keys(upstreams);
  const close = nearest(defaultUpstream, names);
  const hint = close === undefined ? `there are: ${names.join(', ') || 'none'}` : `did you mean ${close}?`;
  yield { path: ['defaultUpstream'], message: `expected the name of an upstream; ${hint}` };
}

/** Names become URL paths, and people and proxies do not keep the letter case of those apart. */
function* namesDiffer({ upstreams }: GatewayConfig): Iterable<LocatedText> {
  const seen = new Map<string, string>();
  for (const name of Object.keys(upstreams)) {
    const other = seen.get(name.toLowerCase());
    if (other !== undefined) {
      yield {
        path: ['upstreams', name],
        message: `expected a name that differs from ${other} in more than case`,
      };
    }
    seen.set(name.toLowerCase(), name);
  }
}

/** Whoever reaches the port borrows the credential: an open proxy must be asked for by name. */
function* credentialsStayHome({ listen, upstreams }: GatewayConfig): Iterable<LocatedText> {
  if (isLoopback(listen.host)) return;
  for (const [name, { authorization }] of Object.entries(upstreams)) {
    if (authorization.mode !== 'static' || authorization.allowAnonymous) continue;
    yield {
      path: ['upstreams', name, 'authorization', 'allowAnonymous'],
      message:
        'the gateway listens beyond loopback and would lend this credential to everyone who reaches it; ' +
        'listen on 127.0.0.1, or accept that with allowAnonymous: true',
    };
  }
}

function* timeoutsFit(config: GatewayConfig): Iterable<LocatedText> {
  const { timeouts, upstreams } = config;
  if (timeouts.callMs > timeouts.callMaxMs) {
    yield {
      path: ['timeouts', 'callMs'],
      message: tooPatient('timeouts.callMaxMs', timeouts),
    };
    return;
  }
  for (const [name, upstream] of Object.entries(upstreams)) {
    const own = callTimeouts(config, upstream);
    if (own.callMs <= own.callMaxMs) continue;
    const key = upstream.timeouts.callMs === undefined ? 'callMaxMs' : 'callMs';
    yield {
      path: ['upstreams', name, 'timeouts', key],
      message:
        key === 'callMs'
          ? tooPatient(`the callMaxMs of this upstream`, own)
          : `expected at least timeouts.callMs (${own.callMs}), got the number ${own.callMaxMs}`,
    };
  }
}

function tooPatient(bound: string, { callMs, callMaxMs }: CallTimeouts): string {
  return `expected at most ${bound} (${callMaxMs}), which would end the call first, got the number ${callMs}`;
}

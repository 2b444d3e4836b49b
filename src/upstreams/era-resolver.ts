import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { now } from '../clock/clock.js';
import { GATEWAY_CODE, GatewayError } from '../errors/gateway-error.js';
import type { Era, Introduction, UpstreamHalf } from '../exchange/exchange.js';
import { valueText } from '../jsonrpc/json-scan.js';
import type { Logger } from '../telemetry/logger.js';

/** What is believed of an upstream, and why. */
export interface EraVerdict {
  readonly era: Era;
  /** What the upstream was seen to do, in the order seen. */
  readonly evidence: readonly string[];
  /** Milliseconds since the epoch. */
  readonly since: number;
}

export interface EraResolverOptions {
  readonly name: string;
  readonly pin: 'auto' | Era;
  /** How long a verdict holds before the upstream is asked again, in milliseconds. */
  readonly ttlMs: number;
  /** How long a failed probe answers for the next ones, in milliseconds. */
  readonly retryMs: number;
  readonly log: Logger;
  /** Whether the upstream is sent a credential for this caller. */
  sendsCredential(introduction: Introduction): boolean;
}

/** Callers whose refusals are remembered. */
const MAX_REFUSED = 1000;

/** What came of asking an upstream. */
type Finding =
  | { readonly era: Era }
  /** `shared`: it says nothing of this caller, so others need not ask for the same at once. */
  | { readonly error: GatewayError; readonly shared: boolean };

/**
 * Which era an upstream speaks: asked once, cached for everybody, asked again on contradiction. Only an answer that
 * says something is cached: silence, 5xx and refused credentials are no evidence. A verdict is given up for another
 * one only: an upstream that refuses one caller in its own words has refused that caller, and nobody else pays for it.
 * @see /specification/2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions
 */
export class EraResolver {
  private known: EraVerdict | undefined;
  private readonly probing = new Map<string, Promise<Finding>>();
  private lastFailure: { readonly at: number; readonly error: GatewayError } | undefined;
  /** Refusals of one caller each, by who it is and how it introduces itself. */
  private readonly refused: LRUCache<string, GatewayError>;

  constructor(
    private readonly halves: Readonly<Record<Era, UpstreamHalf>>,
    /** The introduction in the words of an era. */
    private readonly translate: (introduction: Introduction, era: Era) => Introduction,
    private readonly options: EraResolverOptions,
  ) {
    this.refused = new LRUCache({ max: MAX_REFUSED, ttl: options.retryMs });
  }

  /** The present verdict, for reports. */
  get verdict(): EraVerdict | undefined {
    const { pin } = this.options;
    return pin === 'auto' ? this.known : { era: pin, evidence: ['pinned in the configuration'], since: 0 };
  }

  /**
   * The era, asking the upstream when it is not known. Concurrent callers of one kind share one probe.
   * @throws GatewayError the upstream cannot be reached, refuses the credential, or speaks neither era
   */
  async resolve(introduction: Introduction): Promise<Era> {
    const { pin, ttlMs, retryMs } = this.options;
    if (pin !== 'auto') return pin;
    if (this.known !== undefined && now() - this.known.since < ttlMs) return this.known.era;
    const key = callerKey(introduction);
    const failed = this.lastFailure !== undefined && now() - this.lastFailure.at < retryMs;
    const error = failed ? this.lastFailure?.error : this.refused.get(key);
    const finding = error === undefined ? await this.find(key, introduction) : { error };
    if ('era' in finding) return finding.era;
    // A verdict that is old is better than none, and the request itself may fare better than the question did.
    if (this.known !== undefined) return this.known.era;
    throw finding.error;
  }

  /**
   * An answer contradicts the verdict: the upstream is asked anew in the name of this caller. What is found becomes the
   * verdict; when nothing is, the old one holds, and the answer was about the caller.
   */
  async reconsider(era: Era, introduction: Introduction, why: string): Promise<Era> {
    const { pin, name, log } = this.options;
    if (pin !== 'auto') return pin;
    // Somebody else has found out meanwhile.
    if (this.known?.era !== era) return this.resolve(introduction);
    const key = callerKey(introduction);
    if (this.refused.has(key)) return era;
    log.warn({ upstream: name, era, why: why.slice(0, 300) }, 'the era verdict was contradicted');
    const finding = await this.find(key, introduction);
    return 'era' in finding ? finding.era : era;
  }

  private async find(key: string, introduction: Introduction): Promise<Finding> {
    let probing = this.probing.get(key);
    if (probing === undefined) {
      probing = this.probe(introduction).then((finding) => {
        if ('era' in finding) return finding;
        if (!finding.shared) this.refused.set(key, finding.error);
        else this.lastFailure = { at: now(), error: finding.error };
        return finding;
      });
      this.probing.set(key, probing);
      const forget = () => this.probing.delete(key);
      probing.then(forget, forget);
    }
    return probing;
  }

  private async probe(introduction: Introduction): Promise<Finding> {
    const modern = await this.halves.modern.probe(this.translate(introduction, 'modern'));
    if (modern.kind === 'yes') return this.conclude('modern', [modern.evidence]);
    if (modern.kind === 'unknown') return { error: modern.error, shared: true };
    // Without a credential there is nothing more to try: the client has to learn of the challenge.
    if (modern.kind === 'refused' && !this.options.sendsCredential(introduction))
      return { error: modern.error, shared: false };
    const legacy = await this.halves.legacy.probe(this.translate(introduction, 'legacy'));
    if (legacy.kind === 'yes') {
      const first = modern.kind === 'no' ? modern.evidence : 'server/discover was refused';
      return this.conclude('legacy', [first, legacy.evidence]);
    }
    if (modern.kind === 'refused') return { error: modern.error, shared: false };
    if (legacy.kind === 'refused') return { error: legacy.error, shared: false };
    if (legacy.kind === 'unknown') return { error: legacy.error, shared: true };
    const error = new GatewayError(
      GATEWAY_CODE.upstreamProtocol,
      `the upstream ${this.options.name} speaks neither era: ${modern.evidence}; ${legacy.evidence}`,
      { status: 502 },
    );
    return { error, shared: false };
  }

  private conclude(era: Era, evidence: readonly string[]): Finding {
    const { name, log } = this.options;
    this.lastFailure = undefined;
    this.refused.clear();
    if (this.known?.era !== era) log.info({ upstream: name, era, evidence }, 'era of the upstream');
    this.known = { era, evidence, since: now() };
    return { era };
  }
}

/** Who asks, and in which words: another client of the same credential may be taken where this one is refused. */
function callerKey({ caller, client, message }: Introduction): string {
  const params = message?.params === undefined ? '' : valueText(message.text, message.params);
  const said = JSON.stringify([caller.principal.key, client.clientInfo ?? '', client.capabilities, params]);
  return createHash('sha256').update(said).digest('base64url');
}

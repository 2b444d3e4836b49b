import { now } from '../clock/clock.js';
import { GATEWAY_CODE, GatewayError } from '../errors/gateway-error.js';
import type { Era, Introduction, UpstreamHalf } from '../exchange/exchange.js';
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

/**
 * Which era an upstream speaks: asked once, cached for everybody, asked again on contradiction. Only an answer that
 * says something is cached: silence, 5xx and refused credentials are no evidence.
 * @see /specification/2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions
 */
export class EraResolver {
  private known: EraVerdict | undefined;
  private readonly probing = new Map<string, Promise<Era>>();
  private lastFailure: { readonly at: number; readonly error: GatewayError } | undefined;

  constructor(
    private readonly halves: Readonly<Record<Era, UpstreamHalf>>,
    /** The introduction in the words of an era. */
    private readonly translate: (introduction: Introduction, era: Era) => Introduction,
    private readonly options: EraResolverOptions,
  ) {}

  /** The present verdict, for reports. */
  get verdict(): EraVerdict | undefined {
    const { pin } = this.options;
    return pin === 'auto' ? this.known : { era: pin, evidence: ['pinned in the configuration'], since: 0 };
  }

  /**
   * The era, asking the upstream when it is not known. Concurrent callers with one credential share one probe.
   * @throws GatewayError the upstream cannot be reached, refuses the credential, or speaks neither era
   */
  async resolve(introduction: Introduction): Promise<Era> {
    const { pin, ttlMs, retryMs } = this.options;
    if (pin !== 'auto') return pin;
    if (this.known !== undefined && now() - this.known.since < ttlMs) return this.known.era;
    if (this.lastFailure !== undefined && now() - this.lastFailure.at < retryMs) throw this.lastFailure.error;
    const key = introduction.caller.principal.key;
    let probing = this.probing.get(key);
    if (probing === undefined) {
      probing = this.probe(introduction);
      this.probing.set(key, probing);
      const forget = () => this.probing.delete(key);
      probing.then(forget, forget);
    }
    return probing;
  }

  /** An answer contradicts the verdict: the next caller asks anew. */
  contradict(era: Era, why: string): void {
    if (this.options.pin !== 'auto' || this.known?.era !== era) return;
    this.options.log.warn(
      { upstream: this.options.name, era, why: why.slice(0, 300) },
      'the era verdict was contradicted',
    );
    this.known = undefined;
  }

  private async probe(introduction: Introduction): Promise<Era> {
    const modern = await this.halves.modern.probe(this.translate(introduction, 'modern'));
    if (modern.kind === 'yes') return this.conclude('modern', [modern.evidence]);
    if (modern.kind === 'unknown') return this.giveUp(modern.error);
    // Without a credential there is nothing more to try: the client has to learn of the challenge.
    if (modern.kind === 'refused' && !this.options.sendsCredential(introduction)) throw modern.error;
    const legacy = await this.halves.legacy.probe(this.translate(introduction, 'legacy'));
    if (legacy.kind === 'yes') {
      const first = modern.kind === 'no' ? modern.evidence : 'server/discover was refused';
      return this.conclude('legacy', [first, legacy.evidence]);
    }
    if (modern.kind === 'refused') throw modern.error;
    if (legacy.kind === 'refused') throw legacy.error;
    if (legacy.kind === 'unknown') return this.giveUp(legacy.error);
    const error = new GatewayError(
      GATEWAY_CODE.upstreamProtocol,
      `the upstream ${this.options.name} speaks neither era: ${modern.evidence}; ${legacy.evidence}`,
      { status: 502 },
    );
    return this.giveUp(error);
  }

  private conclude(era: Era, evidence: readonly string[]): Era {
    const { name, log } = this.options;
    this.lastFailure = undefined;
    if (this.known?.era !== era) log.info({ upstream: name, era, evidence }, 'era of the upstream');
    this.known = { era, evidence, since: now() };
    return era;
  }

  private giveUp(error: GatewayError): never {
    this.lastFailure = { at: now(), error };
    throw error;
  }
}

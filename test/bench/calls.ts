import { BenchProcess } from './processes.js';
import { type Sample, callSections } from './call-sections.js';
import { type Scenario, allScenarios } from './scenarios.js';
import type { RunOptions, Section } from './section.js';
import { UpstreamPair } from './upstream-pair.js';

/** CPU per call, event and question of the gateway, beside a koa + undici byte pipe in the same interleaved run. */
export class CallBench {
  private constructor(
    private readonly upstreams: UpstreamPair,
    private readonly through: Readonly<Record<'gateway' | 'pipe', { process: BenchProcess; port: number }>>,
    private readonly load: BenchProcess,
  ) {}

  /** @param groups which of the kinds of work */
  static async run(groups: readonly Scenario['group'][], options: RunOptions): Promise<Section[]> {
    const scenarios = allScenarios().filter(
      ({ group, target, through }) =>
        groups.includes(group) &&
        (options.target === undefined || through !== 'gateway' || target === options.target),
    );
    const upstreams = await UpstreamPair.start();
    const start = async (file: string, flags: readonly string[] = []) => {
      const process = await BenchProcess.start(file, flags);
      return { process, port: await process.ask<number>('start', upstreams.urls) };
    };
    const bench = new CallBench(
      upstreams,
      {
        gateway: await start('gateway-process.mjs', options.gatewayFlags),
        pipe: await start('pipe-process.mjs'),
      },
      await BenchProcess.start('load-process.mjs'),
    );
    const samples = await bench.rounds(scenarios, options);
    await bench.stop();
    return callSections(samples);
  }

  private async rounds(
    scenarios: readonly Scenario[],
    options: RunOptions,
  ): Promise<ReadonlyMap<Scenario, readonly Sample[]>> {
    const samples = new Map<Scenario, Sample[]>(scenarios.map((scenario) => [scenario, []]));
    const share = options.quick ? 0.2 : 1;
    // Compilers warm up first: what is measured is the steady state.
    for (const scenario of scenarios) await this.measure(scenario, share / 2);
    for (let round = 0; round < options.rounds; round++) {
      for (const scenario of scenarios) samples.get(scenario)?.push(await this.measure(scenario, share));
    }
    return samples;
  }

  private async measure(scenario: Scenario, portion: number): Promise<Sample> {
    const { through, upstream, client, tool, count, path, connections } = scenario;
    const measured = through === 'direct' ? undefined : this.through[through];
    const peer = this.upstreams.processes[upstream];
    // One question at a time to each process, and `direct` measures none.
    const processes = [this.load, peer, ...(measured === undefined ? [] : [measured.process])];
    const before = await Promise.all(processes.map((each) => each.cpu()));
    const { units, ms, p50 } = await this.load.ask<{ units: number; ms: number; p50?: number }>('run', {
      port: measured?.port ?? this.upstreams.port(upstream),
      path,
      era: client,
      tool,
      bytes: tool === 'large' ? 65_536 : tool === 'small' ? 1024 : 1,
      connections,
      total: Math.max(connections, Math.round(scenario.total * portion)),
      direct: through !== 'gateway',
      ...(count !== undefined && { count }),
    });
    const after = await Promise.all(processes.map((each) => each.cpu()));
    const spent = after.map((value, i) => (value - (before[i] ?? 0)) / units);
    const [loadCpu = 0, peerCpu = 0, cpu = 0] = spent;
    return { cpu, loadCpu, peerCpu, ms, units, ...(p50 !== undefined && { p50 }) };
  }

  private async stop(): Promise<void> {
    await this.through.gateway.process.stop();
    await this.through.pipe.process.stop();
    await this.load.stop();
    await this.upstreams.stop();
  }
}

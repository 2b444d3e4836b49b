import { BenchProcess } from './processes.js';
import type { Era } from '../peers/wire-client.js';

/** A cheap upstream of each era, each in a process of its own. */
export class UpstreamPair {
  private constructor(
    readonly processes: Readonly<Record<Era, BenchProcess>>,
    readonly urls: Readonly<Record<Era, string>>,
  ) {}

  static async start(): Promise<UpstreamPair> {
    const processes = {
      legacy: await BenchProcess.start('upstream-process.mjs'),
      modern: await BenchProcess.start('upstream-process.mjs'),
    };
    const urls = {
      legacy: await processes.legacy.ask<string>('start', 'legacy'),
      modern: await processes.modern.ask<string>('start', 'modern'),
    };
    return new UpstreamPair(processes, urls);
  }

  port(era: Era): number {
    return Number(new URL(this.urls[era]).port);
  }

  async stop(): Promise<void> {
    await this.processes.legacy.stop();
    await this.processes.modern.stop();
  }
}

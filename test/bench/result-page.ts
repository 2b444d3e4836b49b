import { cpus } from 'node:os';
import { type Section, printSection } from './section.js';

/** The result page, in Markdown. */
export function resultPage(
  sections: readonly Section[],
  run: { readonly quick: boolean; readonly seconds: number },
): string {
  const cpu = cpus();
  return `# What the gateway costs

Written by \`npm run bench${run.quick ? ' -- --quick' : ''}\` in ${run.seconds} seconds: node ${process.version}, ${cpu.length} × ${cpu[0]?.model ?? 'unknown'}, medians of interleaved rounds.

The gateway runs built, with every limit, log and timeout at its default where nothing else is said. CPU is user and
system time of its process (\`process.cpuUsage\`) per unit of work. The pipe is koa and \`undici.request\` carrying bytes
and nothing else, once with bodies as streams and once collected; the cheaper one is the floor of the ratios, which are
taken within each round; the ratio of the least is that of the least disturbed round of each side. Where streams are
held, the floor is a bare node:http server.
Absolute numbers belong to the machine and to what else it did; ratios are what to compare. Load and upstreams are
processes of their own; their CPU stands beside, and where it is below the gateway's they do not bound it.
${sections.map(printSection).join('')}`;
}

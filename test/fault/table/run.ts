/** `npm run faults [-- WORD]`: lets every fault, or those whose name has the word, happen, and prints what came of it. */
import { type Fate, FAULTS, STORES_OF, cellsOf, fateOf, faultTable } from './fault-cells.js';
import { play } from './scenes.js';

const word = (process.argv[2] ?? '').toLowerCase();
const faults = FAULTS.filter((fault) => fault.toLowerCase().includes(word));
const seen = new Map<string, Fate>();
const problems: string[] = [];

for (const fault of faults) {
  for (const store of STORES_OF[fault]) {
    const start = performance.now();
    const outcomes = cellsOf(fault, store).map(async (cell) => {
      const name = `${fault}, ${store}, ${cell.client} → ${cell.upstream}`;
      const fate = await play(cell).catch((error: unknown): Fate => {
        const problem = error instanceof Error ? error.message : String(error);
        return { client: `**${problem}**`, upstream: '?' };
      });
      seen.set(JSON.stringify(cell), fate);
      const expected = fateOf(cell);
      if (fate.client !== expected.client || fate.upstream !== expected.upstream) {
        const text = ({ client, upstream }: Fate) => `${client} / ${upstream}`;
        problems.push(`${name}: ${text(fate)}; expected ${text(expected)}`);
      }
    });
    await Promise.all(outcomes);
    process.stderr.write(`${fault}, ${store}: ${Math.round(performance.now() - start)} ms\n`);
  }
}

const unseen: Fate = { client: '?', upstream: '?' };
process.stdout.write(`\n${faultTable((cell) => seen.get(JSON.stringify(cell)) ?? unseen, faults)}\n`);
for (const problem of problems) process.stdout.write(`NOT AS EXPECTED: ${problem}\n`);
process.stdout.write(`${seen.size} cells, ${problems.length} not as expected\n`);
process.exit(problems.length === 0 && seen.size > 0 ? 0 : 1);

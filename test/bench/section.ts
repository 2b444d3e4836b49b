/** One table of the result page. */
export interface Section {
  readonly title: string;
  /** What the numbers are, where the head of the table does not say it. */
  readonly note?: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** How a benchmark is run. */
export interface RunOptions {
  readonly quick: boolean;
  readonly rounds: number;
  /** Only the rows of this target, and the floor. */
  readonly target: string | undefined;
  /** Flags for the process of the gateway, such as `--cpu-prof`. */
  readonly gatewayFlags: readonly string[];
}

/** @returns Markdown */
export function printSection({ title, note, head, rows }: Section): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
  const lead = note === undefined ? '' : `${note}\n\n`;
  return `\n## ${title}\n\n${lead}${line(head)}|${'---|'.repeat(head.length)}\n${rows.map(line).join('')}`;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** A ratio with the aim it is meant to stay below. */
export function withAim(ratio: number, aim: number | undefined): string {
  const number = ratio.toFixed(2);
  if (aim === undefined) return number;
  return ratio <= aim ? `${number} (aim ${aim})` : `${number} (aim ${aim}, **not met**)`;
}

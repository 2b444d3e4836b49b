/**
 * The candidate a person most likely meant by `word`, or undefined when none is close: at most one edit in
 * three characters, letter case and separators free.
 */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const wanted = plain(word);
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(wanted, plain(candidate), bestDistance);
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

function plain(word: string): string {
  return word.toLowerCase().replaceAll(/[-_.\s]/g, '');
}

/** Insertions, deletions, replacements and swaps of neighbours between two words; `limit` when there are more. */
function editDistance(from: string, to: string, limit: number): number {
  if (Math.abs(from.length - to.length) >= limit) return limit;
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const cost = from[i - 1] === to[j - 1] ? 0 : 1;
      let distance = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + cost);
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]) {
        distance = Math.min(distance, at(beforeLast, j - 2) + 1);
      }
      row.push(distance);
    }
    [beforeLast, last] = [last, row];
  }
  return at(last, to.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? 0;
}

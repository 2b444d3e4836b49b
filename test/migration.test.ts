import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const ROWS = Array.from({ length: 32 }, (_, i) => `X${i + 1}`);
const CASES = Array.from({ length: 20 }, (_, i) => `C${i + 1}`);

/** MIGRATION.md; a page that is missing is one failure with a reason, not one for each row. */
const PAGE = join(ROOT, 'MIGRATION.md');
const page = existsSync(PAGE) ? readFileSync(PAGE, 'utf8') : '';

/** The section of a row: from its heading to the next heading of any level. */
function sectionOf(row: string): string | undefined {
  const sections = page.split(/^(?=#{1,6} )/m).filter((text) => text.startsWith(`### ${row} `));
  return sections.length === 1 ? sections[0] : undefined;
}

interface Reference {
  readonly file: string;
  readonly title: string;
}

/** The lines that name a test: `test: ` and a file in backticks, `›` and a title in quotes. */
function referencesIn(text: string): Reference[] {
  const matches = text.matchAll(/^test: `([^`]+)` › "(.+)"$/gm);
  return [...matches].map(([, file = '', title = '']) => ({ file, title }));
}

/** The titles in a test file: the string literals given first to a call, as they are before values are put in. */
function titlesIn(source: string): string[] {
  const literals = source.matchAll(
    /\(\s*(?:'((?:\\.|[^'\\\n])*)'|"((?:\\.|[^"\\\n])*)"|`((?:\\.|[^`\\])*)`)/g,
  );
  return [...literals].map(([, single, double, template]) =>
    (single ?? double ?? template ?? '').replace(/\\(['"`\\])/g, '$1'),
  );
}

const NOT_YET = 'test: not yet';

/** What is wrong with a reference; undefined when nothing is. */
function problemOf({ file, title }: Reference): string | undefined {
  const path = join(ROOT, file);
  if (!existsSync(path)) return `there is no ${file}`;
  // Titles of parametrised tests end in values, so a reference names their beginning.
  const found = titlesIn(readFileSync(path, 'utf8')).some((candidate) => candidate.startsWith(title));
  return found ? undefined : `${file} has no test "${title}"`;
}

/** Every title in every test file. */
function allTitles(): string[] {
  return readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .flatMap((path) => titlesIn(readFileSync(join(ROOT, 'test', path), 'utf8')));
}

test('MIGRATION.md exists', () => {
  expect(page, 'there is no MIGRATION.md').not.toBe('');
});

describe.runIf(page !== '')('MIGRATION.md', () => {
  test.each(ROWS)('%s has one section, which names tests that exist or says "test: not yet"', (row) => {
    const section = sectionOf(row);
    expect(section, `one heading "### ${row} …"`).toBeDefined();
    const references = referencesIn(section ?? '');
    const problems = references.map(problemOf).filter((problem) => problem !== undefined);
    expect(problems).toEqual([]);
    if (section?.includes(NOT_YET) !== true) expect(references.length, 'tests named').toBeGreaterThan(0);
  });

  test('every line that means to name a test does so in the form that is checked', () => {
    const lines = page.split('\n').filter((line) => /^\W*tests?:/i.test(line) && line !== NOT_YET);
    expect(lines.filter((line) => referencesIn(line).length === 0)).toEqual([]);
    expect(
      referencesIn(page)
        .map(problemOf)
        .filter((problem) => problem !== undefined),
    ).toEqual([]);
    expect(lines.length).toBeGreaterThan(0);
  });

  test('each row that is built is named by a test', () => {
    const titles = allTitles();
    const missing = ROWS.filter((row) => !titles.some((title) => names(title, row)));
    expect(missing.filter((row) => !/\*\*not yet\*\*/i.test(sectionOf(row) ?? ''))).toEqual([]);
  });
});

test('each case from the field is named by a test', () => {
  const titles = allTitles();
  expect(CASES.filter((name) => !titles.some((title) => names(title, name)))).toEqual([]);
});

/** Whether a title names a row or a case as a word of its own: `X1` is not in `X12`. */
function names(title: string, name: string): boolean {
  return new RegExp(`(?:^|[^A-Za-z0-9])${name}(?![0-9])`).test(title);
}

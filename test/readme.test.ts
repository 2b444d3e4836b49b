import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { GATEWAY_CODE } from '../src/errors/gateway-error.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The text GitHub makes an anchor of: lower case, only letters, digits, spaces and hyphens, spaces as hyphens. */
function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/<[^>]*>/g, '')
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
}

function anchorsOf(page: string): Set<string> {
  const headings = [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => slug(heading));
  const explicit = [...page.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id);
  return new Set([...headings, ...explicit]);
}

describe.each(['README.md', 'MIGRATION.md', 'docs/configuration.md', 'docs/faults.md'])('%s', (path) => {
  const page = readFileSync(join(ROOT, path), 'utf8');

  test('links within the repository lead somewhere', () => {
    const broken = [...page.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].flatMap(([, link = '']) => {
      const [file = '', anchor] = link.split('#');
      const target = file === '' ? join(ROOT, path) : join(ROOT, dirname(path), file);
      if (!existsSync(target)) return [link];
      return anchor === undefined || anchorsOf(readFileSync(target, 'utf8')).has(anchor) ? [] : [link];
    });
    expect(broken).toEqual([]);
  });
});

test("README.md lists exactly the gateway's own error codes", () => {
  const page = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const listed = [...page.matchAll(/^\| (-31\d{3}) /gm)].map(([, code]) => Number(code));
  expect(listed).toEqual(Object.values(GATEWAY_CODE));
});

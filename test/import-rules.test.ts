/** The folders of the project and what each may import; a rule that is not checked is a wish. */
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

interface Source {
  /** Path from the root of the repository, with slashes. */
  readonly path: string;
  readonly text: string;
  /** Project files by their path, packages and node's own modules by their specifier. */
  readonly imports: readonly string[];
}

function sourcesUnder(folder: string): Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => {
      const path = join(folder, file);
      const text = readFileSync(join(ROOT, path), 'utf8');
      const imports = ts.preProcessFile(text).importedFiles.map(({ fileName }) => resolve(path, fileName));
      return { path, text, imports };
    });
}

function resolve(from: string, specifier: string): string {
  if (!specifier.startsWith('.')) return specifier;
  return relative(ROOT, join(ROOT, dirname(from), specifier)).replace(/\.js$/, '.ts');
}

const SRC = sourcesUnder('src');
const ADAPTERS = sourcesUnder('adapters');
const ALL = [...SRC, ...ADAPTERS];
const MANIFEST = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  dependencies: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
};

/** Every import that matches, as `importer -> imported`. */
function findImports(
  sources: readonly Source[],
  matches: (imported: string, importer: string) => boolean,
): string[] {
  return sources.flatMap(({ path, imports }) =>
    imports.filter((imported) => matches(imported, path)).map((imported) => `${path} -> ${imported}`),
  );
}

/** The name of the package an import belongs to; undefined for project files and node's own modules. */
function packageOf(imported: string): string | undefined {
  if (/^(?:src|adapters|test)\//.test(imported) || imported.startsWith('node:')) return undefined;
  return imported
    .split('/')
    .slice(0, imported.startsWith('@') ? 2 : 1)
    .join('/');
}

function isPackage(...names: (string | RegExp)[]): (imported: string) => boolean {
  return (imported) => {
    const name = packageOf(imported);
    return names.some((wanted) =>
      typeof wanted === 'string' ? wanted === name : name !== undefined && wanted.test(name),
    );
  };
}

const outside = (...folders: string[]) =>
  ALL.filter(({ path }) => !folders.some((folder) => path.startsWith(`${folder}/`)));

const within = (folder: string) => ALL.filter(({ path }) => path.startsWith(`${folder}/`));

/** A source without its comments, which may cite pages of the specification. */
function codeOf({ text }: Source): string {
  const file = ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, false);
  return ts.createPrinter({ removeComments: true }).printFile(file);
}

test('the sources are found', () => {
  expect(SRC.length).toBeGreaterThan(50);
  expect(ADAPTERS.length).toBeGreaterThan(20);
  expect(findImports(SRC, () => true).length).toBeGreaterThan(100);
});

describe('adapters', () => {
  test('src imports adapters in gateway.ts only, and there through the registry', () => {
    const found = findImports(SRC, (imported) => imported.startsWith('adapters/'));
    expect(found).toEqual(['src/gateway.ts -> adapters/registry.ts']);
  });

  test('no revision imports another', () => {
    const revisionOf = (path: string) => /^adapters\/([^/]+)\//.exec(path)?.[1];
    const found = findImports(ADAPTERS, (imported, importer) => {
      const [from, to] = [revisionOf(importer), revisionOf(imported)];
      return from !== undefined && to !== undefined && from !== to;
    });
    expect(found).toEqual([]);
  });

  test('a revision sees of adapters/ only its own folder and the contracts', () => {
    const found = findImports(
      ADAPTERS.filter(({ path }) => /^adapters\/[^/]+\//.test(path)),
      (imported) => /^adapters\/[^/]+\.ts$/.test(imported) && imported !== 'adapters/adapter.ts',
    );
    expect(found).toEqual([]);
  });

  test('no revision stands in the code of src', () => {
    const found = SRC.flatMap((source) => {
      const revision = /20\d\d-\d\d-\d\d/.exec(codeOf(source))?.[0];
      return revision === undefined ? [] : [`${source.path}: ${revision}`];
    });
    expect(found).toEqual([]);
  });
});

test('time is told by src/clock, which a step of the wall clock does not move', () => {
  const found = ALL.filter((source) => /Date\.now|new Date\(\)/.test(codeOf(source))).map(({ path }) => path);
  // The demo servers stand for somebody else's.
  expect(found.filter((path) => !/demo/.test(path))).toEqual([]);
});

describe('packages', () => {
  test('koa serves under src/http and src/admin only', () => {
    expect(findImports(outside('src/http', 'src/admin'), isPackage('koa', /^@koa\//))).toEqual([]);
  });

  test('undici sends under src/upstreams only', () => {
    expect(findImports(outside('src/upstreams'), isPackage('undici'))).toEqual([]);
  });

  test('the command line is read under src/cli only', () => {
    expect(findImports(outside('src/cli'), isPackage('commander'))).toEqual([]);
  });

  test('no MCP SDK at run time', () => {
    const sdk = /^@modelcontextprotocol\//;
    expect(findImports(ALL, isPackage(sdk))).toEqual([]);
    expect(Object.keys(MANIFEST.dependencies).filter((name) => sdk.test(name))).toEqual([]);
  });

  test('what is imported is a dependency, and every dependency is imported', () => {
    const imported = new Set(
      ALL.flatMap(({ imports }) => imports).flatMap((specifier) => packageOf(specifier) ?? []),
    );
    const { dependencies, optionalDependencies, peerDependencies } = MANIFEST;
    const declared = { ...dependencies, ...optionalDependencies, ...peerDependencies };
    expect([...imported].filter((name) => !Object.hasOwn(declared, name))).toEqual([]);
    expect(Object.keys(dependencies).filter((name) => !imported.has(name))).toEqual([]);
  });

  test.each([
    ['better-sqlite3', /^src\/replay\/sqlite\//],
    ['redis', /^src\/(?:replay\/redis|cluster)\//],
  ])('%s is loaded under %s only, and only when it is used', (name, folder) => {
    const importers = ALL.filter(({ imports }) => imports.includes(name)).map(({ path }) => path);
    expect(importers.filter((path) => !folder.test(path))).toEqual([]);
    for (const source of ALL.filter(({ path }) => importers.includes(path) && !path.endsWith('.d.ts'))) {
      expect(
        ts.transpile(source.text, { module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true }),
      ).not.toMatch(new RegExp(`from '${name}'`));
    }
  });
});

describe('folders', () => {
  /** A folder and all it may import of the project, besides itself. */
  const SELF_CONTAINED: Readonly<Record<string, readonly string[]>> = {
    'src/jsonrpc': [],
    'src/sse': [],
    'src/errors': [],
    'src/translation': ['src/jsonrpc'],
    'src/http': ['src/errors', 'src/jsonrpc', 'src/auth'],
    'src/telemetry': [],
  };

  test.each(Object.entries(SELF_CONTAINED))('%s imports only itself and %j', (folder, allowed) => {
    expect(within(folder).length).toBeGreaterThan(0);
    const found = findImports(
      within(folder),
      (imported) =>
        packageOf(imported) === undefined &&
        !imported.startsWith('node:') &&
        ![folder, ...allowed].some((prefix) => imported.startsWith(`${prefix}/`)),
    );
    expect(found).toEqual([]);
  });

  test('nothing but the commands imports the commands, and nothing imports tests', () => {
    expect(findImports(outside('src/cli'), (imported) => imported.startsWith('src/cli/'))).toEqual([]);
    expect(findImports(ALL, (imported) => imported.startsWith('test/'))).toEqual([]);
  });
});

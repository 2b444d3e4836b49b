import { readFileSync } from 'node:fs';

/** The version in the nearest package.json above this file: sources and the built tree lie at different depths. */
export function packageVersion(): string {
  for (let folder = new URL('.', import.meta.url); ; folder = new URL('..', folder)) {
    try {
      const found = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8')) as { version?: string };
      return found.version ?? '0.0.0';
    } catch (error) {
      if (folder.pathname === new URL('..', folder).pathname) throw error;
    }
  }
}

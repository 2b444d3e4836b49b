import type { Era } from '../peers/wire-client.js';
import { type SdkVersion, runPython } from './python.js';
import { reportTypeScript } from './typescript-client.js';

/** What a client saw of one feature, or the error it had. */
export interface Sighting {
  readonly feature: string;
  readonly seen?: unknown;
  readonly error?: string;
}

export interface ClientKind {
  readonly name: string;
  /** The era it speaks with a gateway that speaks both. */
  readonly era: Era;
  /** Whether it asks the server for its name at all. */
  readonly introduced: boolean;
  /** Tries these features, one after the other. */
  report(url: string, features: readonly string[]): Promise<Sighting[]>;
}

function pythonClient(name: string, version: SdkVersion, mode: string): ClientKind {
  return {
    name,
    era: mode === 'legacy' ? 'legacy' : 'modern',
    introduced: mode !== '2026-07-28',
    report: async (url, features) => {
      const script = `python_${version}_client.py`;
      const { code, lines } = await runPython(version, script, [url, mode, ...features], 60_000);
      const sightings = lines.map((line) => JSON.parse(line) as Sighting);
      if (code !== 0) sightings.push({ feature: 'exit', error: `ended with ${String(code)}` });
      return sightings;
    },
  };
}

function typeScriptClient(name: string, era: Era): ClientKind {
  return { name, era, introduced: true, report: (url, features) => reportTypeScript(era, url, features) };
}

export const CLIENTS: readonly ClientKind[] = [
  pythonClient('py1', 'v1', 'legacy'),
  pythonClient('py2 legacy', 'v2', 'legacy'),
  pythonClient('py2 auto', 'v2', 'auto'),
  pythonClient('py2 modern', 'v2', '2026-07-28'),
  typeScriptClient('ts1', 'legacy'),
  typeScriptClient('ts2', 'modern'),
];

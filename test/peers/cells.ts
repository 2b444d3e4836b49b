import { type LegacyServerOptions, startLegacyServer } from './legacy-server.js';
import { type ModernServerOptions, startModernServer } from './modern-server.js';
import type { PeerServer } from './peer-server.js';
import {
  type Script,
  type ScriptedServer,
  legacyScript,
  modernScript,
  startScriptedServer,
} from './scripted-server.js';
import type { LegacyScriptOptions, ModernScriptOptions } from './scripted-server.js';
import type { Era } from './wire-client.js';

export const ERAS = ['legacy', 'modern'] as const satisfies readonly Era[];

/** The four combinations a gateway stands between. */
export const CELLS = ERAS.flatMap((client) =>
  ERAS.map((upstream) => ({ client, upstream, cell: `${client} client, ${upstream} upstream` })),
);

/** A real server of that era with every fixture. */
export function startPeer(
  era: Era,
  options: LegacyServerOptions & ModernServerOptions = {},
): Promise<PeerServer> {
  return era === 'legacy' ? startLegacyServer(options) : startModernServer(options);
}

/** A scripted server of that era: it introduces itself properly, and `calls` answers the rest. */
export function startScript(
  era: Era,
  calls: Script,
  options: LegacyScriptOptions & Omit<ModernScriptOptions, keyof LegacyScriptOptions> = {},
): Promise<ScriptedServer> {
  return startScriptedServer(era === 'legacy' ? legacyScript(calls, options) : modernScript(calls, options));
}

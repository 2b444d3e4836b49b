import { connectModernClient } from '../peers/modern-client.js';
import { isCommand, playScenario, runAsCommand } from './client-command.js';

/** Plays the suite's current client scenario with SDK v2, pinned to 2026-07-28. */
export async function playModernScenario(url: string): Promise<void> {
  await playScenario(url, connectModernClient);
}

if (isCommand(import.meta.url)) runAsCommand(playModernScenario);

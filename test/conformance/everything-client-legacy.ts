import { connectLegacyClient } from '../peers/legacy-client.js';
import { isCommand, playScenario, runAsCommand } from './client-command.js';

/** Plays the suite's current client scenario with SDK v1. */
export async function playLegacyScenario(url: string): Promise<void> {
  await playScenario(url, connectLegacyClient);
}

if (isCommand(import.meta.url)) runAsCommand(playLegacyScenario);

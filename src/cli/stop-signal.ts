import { constants } from 'node:os';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Resolves with the name of the first SIGINT or SIGTERM. From then on a second signal ends the process at once
 * with the shell's code for it, so that a close that hangs can always be cut short.
 */
export function firstStopSignal(): Promise<string> {
  return new Promise((resolve) => {
    let stopping = false;
    for (const signal of SIGNALS) {
      process.on(signal, () => {
        if (stopping) process.exit(128 + constants.signals[signal]);
        stopping = true;
        resolve(signal);
      });
    }
  });
}

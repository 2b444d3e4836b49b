import type { ListenAddress } from '../config/listen.js';
import { formatListen } from '../config/listen.js';

/** The gateway could not start, for a reason the message tells in full. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** Puts a failed start into words where the system's own are poor; other errors come back as they are. */
export function explainStart(error: unknown, listen: ListenAddress): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const where = formatListen(listen);
  switch (code) {
    case 'EADDRINUSE':
      return new StartError(
        `${where} is already in use: stop the program that has it, or choose another port with --listen (0 for any free one)`,
      );
    case 'EACCES':
      return new StartError(
        `not allowed to listen on ${where}: ports below 1024 need rights that this user lacks`,
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new StartError(`cannot listen on ${where}: this machine has no such address`);
    default:
      return error;
  }
}

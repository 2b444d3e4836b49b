import { destination, pino } from 'pino';
import type { Logger } from './logger.js';

/** Members that never reach a log line, whoever logs them. */
const SECRETS = [
  'authorization',
  'cookie',
  '*.authorization',
  '*.cookie',
  '*["mcp-session-id"]',
  'sessionId',
  '*.sessionId',
];

/** The gateway's log: JSON lines on stderr. */
export function createLog(level: string): Logger {
  return pino(
    { level, base: { name: 'mcp-gangway' }, redact: { paths: SECRETS, censor: '[redacted]' } },
    destination(2),
  );
}

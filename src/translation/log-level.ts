/**
 * Log levels (X23): the legacy era sets one per session, the modern era one per request.
 * @see /specification/2026-07-28/server/utilities/logging#log-levels
 */
import { type Message, paramString } from '../jsonrpc/message.js';

/** From the most talkative to the most severe (RFC 5424). */
export const LOG_LEVELS = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

export function isLogLevel(value: string | undefined): value is LogLevel {
  return (LOG_LEVELS as readonly (string | undefined)[]).includes(value);
}

/** The `level` of a `notifications/message` or `logging/setLevel`; undefined when it is none of the eight. */
export function levelOf(message: Message): LogLevel | undefined {
  const level = paramString(message, 'level');
  return isLogLevel(level) ? level : undefined;
}

/** Whether a message of that level is wanted when `minimum` was asked for. */
export function atLeast(level: LogLevel, minimum: LogLevel): boolean {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(minimum);
}

/** X23: the one of two levels at which more is sent. An upstream session serves the most talkative of its users. */
export function moreTalkative(a: LogLevel, b: LogLevel): LogLevel {
  return atLeast(a, b) ? b : a;
}

/**
 * X23: whether a notification may go to a request that asked for this level. Log messages go only to requests that
 * asked for any; everything else passes.
 */
export function isWanted(message: Message, minimum: string | undefined): boolean {
  if (message.method !== 'notifications/message') return true;
  const level = levelOf(message);
  return isLogLevel(minimum) && level !== undefined && atLeast(level, minimum);
}

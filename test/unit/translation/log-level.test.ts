import { describe, expect, it } from 'vitest';
import {
  LOG_LEVELS,
  atLeast,
  isLogLevel,
  levelOf,
  moreTalkative,
} from '../../../src/translation/log-level.js';
import { notificationMessage } from './wire.js';

describe('log levels', () => {
  it('X23 orders the eight levels', () => {
    LOG_LEVELS.forEach((level, i) => {
      LOG_LEVELS.forEach((minimum, j) => {
        expect(atLeast(level, minimum)).toBe(i >= j);
        expect(moreTalkative(level, minimum)).toBe(LOG_LEVELS[Math.min(i, j)]);
      });
    });
  });

  it('X23 knows no other level', () => {
    const level = (text: string) =>
      levelOf(notificationMessage('notifications/message', `{"level":${text}}`));
    expect(level('"warning"')).toBe('warning');
    for (const other of ['"warn"', '"DEBUG"', '3', 'null', '"toString"'])
      expect(level(other)).toBeUndefined();
    expect(isLogLevel(undefined)).toBe(false);
  });
});

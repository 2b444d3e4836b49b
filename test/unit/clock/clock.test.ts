import { expect, test, vi } from 'vitest';
import { now } from '../../../src/clock/clock.js';

test('it is the wall clock, until that one is set', () => {
  expect(Math.abs(now() - Date.now())).toBeLessThan(1000);
  const before = now();
  const wall = vi.spyOn(Date, 'now').mockReturnValue(before + 3_600_000);
  expect(now() - before).toBeLessThan(1000);
  wall.mockReturnValue(before - 3_600_000);
  expect(now()).toBeGreaterThanOrEqual(before);
  wall.mockRestore();
});

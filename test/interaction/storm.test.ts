import { expect, test } from 'vitest';
import { stormOfLegacyClients, stormOfModernClients } from './storm.js';

test.each([
  ['legacy clients, modern upstream', stormOfLegacyClients],
  ['modern clients, legacy upstream', stormOfModernClients],
])('X16, X20, X21 a storm of 40 calls with 3 rounds each, %s', async (_, storm) => {
  const { ends, faults } = await storm({ calls: 40, seed: 4 });
  expect(faults).toEqual([]);
  expect(Object.values(ends).reduce((sum, n) => sum + n, 0)).toBe(40);
  expect(ends['result']).toBeGreaterThan(20);
});

import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 20_000,
    hookTimeout: 30_000,
    globalSetup: ['test/peers/bundled-entry.ts'],
    pool: 'forks',
    // Most tests wait for sockets and clocks rather than for a processor.
    maxWorkers: 3,
    // Timing tests share their machine with whatever else runs there; a failure that is real fails every time.
    retry: process.env['CI'] === undefined ? 0 : 2,
    // What is polled for comes when it comes: on a busy machine later than in the second that is the default.
    expect: { poll: { timeout: 8000 } },
  },
});

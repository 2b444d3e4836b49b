import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 20_000,
    hookTimeout: 30_000,
    pool: 'forks',
    // What is polled for comes when it comes: on a busy machine later than in the second that is the default.
    expect: { poll: { timeout: 8000 } },
  },
});

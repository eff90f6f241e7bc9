import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    pool: 'forks',
    // On a machine with two cores vitest would use one.
    maxWorkers: 2,
    // The kernel has no state of its own outside of what a test opens: files share what they import, which halves the time.
    isolate: false,
  },
});

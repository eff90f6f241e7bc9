import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/test-setup.ts'],
    // Long enough for a machine that does much else: what hangs fails, what is slow does not.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000, interval: 10 } },
    pool: 'forks',
    // On a machine with two cores vitest would use one.
    maxWorkers: 2,
    // The kernel has no state of its own outside of what a test opens: files share what they import, which halves the time.
    isolate: false,
    // Types are tests too: tsc checks these files, and an error in one, or in what it imports, fails the run.
    typecheck: {
      enabled: true,
      include: ['test/types/**/*.test-d.ts'],
      tsconfig: 'test/types/tsconfig.json',
    },
  },
});

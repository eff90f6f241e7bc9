import { defineConfig } from 'vitest/config';

/** The tests of the store and of the layers that keep their state in it, which must be the same on every kind of store. */
const storeTests = 'test/{contract,events,audit,kernel,capability,memory,runtime,tools,model,postgres}/**/*.test.ts';

export default defineConfig({
  test: {
    setupFiles: ['test/support/test-setup.ts'],
    // Long enough for a machine that does much else: what hangs fails, what is slow does not.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000, interval: 10 } },
    pool: 'forks',
    // On a machine with two cores vitest would use one. Many tests wait for programs, servers and timers.
    maxWorkers: 3,
    // The kernel has no state of its own outside of what a test opens: files share what they import, which halves the time.
    isolate: false,
    projects: [
      {
        extends: true,
        test: {
          name: 'sqlite',
          include: ['test/**/*.test.ts'],
          // Those under test/adapters run with packages of their own: npm run test:adapters.
          exclude: ['**/node_modules/**', 'test/postgres/**', 'test/adapters/**'],
          // Types are tests too: tsc checks these files, and an error in one, or in what it imports, fails the run.
          typecheck: {
            enabled: true,
            include: ['test/types/**/*.test-d.ts'],
            tsconfig: 'test/types/tsconfig.json',
          },
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: [storeTests, 'test/crash/nodes.test.ts'],
          env: { PROCURA_TEST_STORE_KIND: 'postgres' },
          // Starts the server, and only where tests of this project run.
          globalSetup: ['test/support/postgres-setup.ts'],
        },
      },
    ],
  },
});

import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import base from '../../../vitest.config.js';

/** Without the projects, each of which would run all tests of its own. */
const { projects: _projects, ...test } = base.test ?? {};

/** Runs the tests of `procura/mastra` with Mastra, which this folder installs. */
export default defineConfig({
  ...base,
  root: fileURLToPath(new URL('../../..', import.meta.url)),
  test: {
    ...test,
    include: ['test/adapters/mastra/*.test.ts'],
    exclude: [],
  },
});

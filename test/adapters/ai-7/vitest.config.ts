import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import base from '../../../vitest.config.js';

/** Without the projects, each of which would run all tests of its own. */
const { projects: _projects, ...test } = base.test ?? {};

const packageFile = (name: string) => fileURLToPath(new URL(`node_modules/${name}`, import.meta.url));

/** Runs the tests of `procura/ai-sdk` with version 7 of the SDK, which sources and tests then import as `ai`. */
export default defineConfig({
  ...base,
  root: fileURLToPath(new URL('../../..', import.meta.url)),
  resolve: {
    alias: [
      { find: /^ai$/, replacement: packageFile('ai/dist/index.js') },
      { find: /^ai\/test$/, replacement: packageFile('ai/dist/test/index.js') },
      { find: /^@ai-sdk\/openai-compatible$/, replacement: packageFile('@ai-sdk/openai-compatible/dist/index.js') },
    ],
  },
  test: { ...test, env: { AI_SDK_MAJOR: '7' }, include: ['test/integrations/ai-sdk/**/*.test.ts'] },
});

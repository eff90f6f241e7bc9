/*
 * npm runs this after an installation in a checkout, before it packs, and when the package is installed from a git address.
 * Builds the package. Does nothing where the sources or the tools are missing, as after `npm ci --omit=dev`.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';

const { resolve } = createRequire(import.meta.url);
const hasSources = existsSync(new URL('../src/index.ts', import.meta.url));
if (hasSources && ['typescript', 'esbuild'].every(isInstalled)) await import('./build.mjs');

/** @param {string} name */
function isInstalled(name) {
  try {
    resolve(name);
    return true;
  } catch {
    return false;
  }
}

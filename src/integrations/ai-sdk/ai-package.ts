import { missingPackage } from '../../base/package/missing-package.js';

/** The AI SDK. */
export type AiPackage = typeof import('ai');

/** Loads the SDK on first use: it is an optional dependency. Throws MISSING_PACKAGE. */
export function loadAiPackage(): Promise<AiPackage> {
  return import('ai').catch(missingPackage('ai', '6'));
}

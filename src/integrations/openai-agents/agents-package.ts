import { missingPackage } from '../../base/package/missing-package.js';

/** The package of the OpenAI Agents SDK with agents, tools and the run loop. */
export type AgentsPackage = typeof import('@openai/agents-core');

/** Loads the package on first use: it is an optional dependency. Throws MISSING_PACKAGE. */
export function loadAgentsPackage(): Promise<AgentsPackage> {
  return import('@openai/agents-core').catch(missingPackage('@openai/agents-core', '0.20'));
}

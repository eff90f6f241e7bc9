/** Tools of Mastra under the kernel: `procura/mastra`. The kernel's own tools for its agents are those of `procura/ai-sdk`. */
export type { GovernOptions } from '../shared/govern-tools.js';
export type { ToolErrorValue } from '../shared/tool-error-value.js';
export { type GovernedMastraTools, governTools, type MastraTool, type MastraTools } from './govern-tools.js';

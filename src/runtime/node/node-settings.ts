import { type Token, token } from '../../base/token.js';

/** How this kernel runs processes. */
export interface NodeSettings {
  /** For people. */
  readonly name: string | null;
  /** Whether it claims processes, and does what the time demands. */
  readonly executor: boolean;
  /** How many bodies run at once. */
  readonly concurrency: number;
  /** How long it is believed to be alive without saying so. */
  readonly leaseMs: number;
  /** How often the store is asked for what other programs have committed. */
  readonly pollMs: number;
}
export const NodeSettings: Token<NodeSettings> = token('NodeSettings');

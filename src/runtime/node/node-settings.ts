import { type Token, token } from '../../base/token.js';

/** The settings of the node that this kernel is. */
export interface NodeSettings {
  /** Shown to people; nothing depends on it. */
  readonly name: string | null;
  /** Whether it claims processes and acts on timers and deadlines. */
  readonly executor: boolean;
  /** Whether it claims from the beginning, or when it is started. */
  readonly start: boolean;
  /** The queues that it claims from. */
  readonly queues: readonly string[];
  /** The number of bodies that are at work at once. */
  readonly concurrency: number;
  /** Whether a process that it spawns is started in the same commit, when a slot is free. */
  readonly startsAtSpawn: boolean;
  /** Other nodes take it for gone this long after its last renewal. */
  readonly leaseMs: number;
  /** The interval at which the store is polled for commits of other programs. */
  readonly pollMs: number;
}
export const NodeSettings: Token<NodeSettings> = token('NodeSettings');

import type { NodeId } from './ids.js';
import { type Token, token } from './token.js';

/** The names of this kernel in the log: its node, and the person or program that operates it. */
export interface NodeIdentity {
  readonly nodeId: NodeId;
  readonly operator: string;
}
export const NodeIdentity: Token<NodeIdentity> = token('NodeIdentity');

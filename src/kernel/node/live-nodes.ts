import type { ReadTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { NodeOffers } from './node-repository.js';

/** The nodes that are not known to be gone. */
export interface LiveNodes {
  /** The images, tools and queues of each live node; null for a node of an earlier release, which does not tell them. */
  findOffers(tx: ReadTx): Promise<(NodeOffers | null)[]>;
}
export const LiveNodes: Token<LiveNodes> = token('LiveNodes');

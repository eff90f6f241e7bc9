import type { ReadTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { NodeOffers } from './node-repository.js';

/** The nodes that are not known to be gone. */
export interface LiveNodes {
  /** What each of them offers; null for nodes of earlier releases, which do not say it. */
  findOffers(tx: ReadTx): Promise<(NodeOffers | null)[]>;
}
export const LiveNodes: Token<LiveNodes> = token('LiveNodes');

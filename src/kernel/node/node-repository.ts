import type { NodeId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';

/** What tells whether a program on this machine is still the one that wrote it. */
export interface HostIdentity {
  readonly machine: string;
  readonly boot: string;
  readonly pid: number;
  readonly startTicks: string;
}

/** A kernel that runs processes, and until when it may. */
export interface NodeRow {
  readonly id: NodeId;
  readonly name: string | null;
  /** Grows when a node that was given up comes back. */
  readonly epoch: number;
  readonly expiresAt: number;
  readonly host: HostIdentity;
  readonly startedAt: number;
  readonly endedAt: number | null;
}

export interface NodeRepository {
  find(tx: ReadTx, id: NodeId): Promise<NodeRow | undefined>;
  /** Those whose epoch has not ended. */
  live(tx: ReadTx): Promise<NodeRow[]>;
  put(tx: WriteTx, node: NodeRow): Promise<void>;
}
export const NodeRepository: Token<NodeRepository> = token('NodeRepository');

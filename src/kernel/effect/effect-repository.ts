import type { ApprovalId, CapabilityId, NodeId, Pid, ReservationId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { AuditAction } from '../../unit/actions.js';

/** An effect on the world whose intent is on record and whose outcome is not. */
export interface EffectRow {
  readonly id: string;
  readonly pid: Pid;
  readonly generation: number;
  readonly action: AuditAction;
  readonly resource: string;
  readonly capability: CapabilityId | 'kin' | 'host';
  readonly approval: ApprovalId | null;
  readonly reservation: ReservationId;
  /** The node that carries it out. */
  readonly node: NodeId;
  readonly at: number;
  /** The id of the audit record of the intent; null for one that an earlier release began. */
  readonly intent: string | null;
}

/** Effects that have begun and have no outcome yet. */
export interface EffectRepository {
  insert(tx: WriteTx, effect: EffectRow): Promise<void>;
  find(tx: ReadTx, id: string): Promise<EffectRow | undefined>;
  findByNode(tx: ReadTx, node: NodeId): Promise<EffectRow[]>;
  /** All nodes of effects, also those that have no row. */
  findNodes(tx: ReadTx): Promise<NodeId[]>;
  remove(tx: WriteTx, ids: readonly string[]): Promise<void>;
}
export const EffectRepository: Token<EffectRepository> = token('EffectRepository');

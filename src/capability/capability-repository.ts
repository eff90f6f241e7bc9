import type { CapabilityId, Pid } from '../base/ids.js';
import type { ReadTx, WriteTx } from '../base/store.js';
import { type Token, token } from '../base/token.js';
import type { CapabilityRecord } from './capability-record.js';
import type { ResourceKind } from './resource-kind.js';

/** What of a process decides whether its capabilities work. */
export interface HolderState {
  readonly live: boolean;
  readonly generation: number;
  /** Capabilities of earlier generations are dead. */
  readonly authoritySince: number;
}

/** Rows of capabilities. Every method works inside the caller's unit. */
export interface CapabilityRepository {
  find(tx: ReadTx, id: CapabilityId): Promise<CapabilityRecord | undefined>;
  insert(tx: WriteTx, records: readonly CapabilityRecord[]): Promise<void>;
  /** All that `holder` was ever given, or those on resources of one kind. */
  heldBy(tx: ReadTx, holder: Pid, kind?: ResourceKind): Promise<readonly CapabilityRecord[]>;
  /** Those on exactly this resource text. */
  heldOn(tx: ReadTx, holder: Pid, resource: string): Promise<readonly CapabilityRecord[]>;
  holder(tx: ReadTx, pid: Pid): Promise<HolderState | undefined>;
}
export const CapabilityRepository: Token<CapabilityRepository> = token('CapabilityRepository');

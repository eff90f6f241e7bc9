import type { CapabilityId, Pid } from '../base/ids.js';
import type { ReadTx, WriteTx } from '../base/store.js';
import { type Token, token } from '../base/token.js';
import type { CapabilityRecord } from './capability-record.js';

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
  insert(tx: WriteTx, record: CapabilityRecord): Promise<void>;
  heldBy(tx: ReadTx, holder: Pid): Promise<CapabilityRecord[]>;
  holder(tx: ReadTx, pid: Pid): Promise<HolderState | undefined>;
}
export const CapabilityRepository: Token<CapabilityRepository> = token('CapabilityRepository');

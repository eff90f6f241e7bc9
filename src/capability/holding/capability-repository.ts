import type { CapabilityId, Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { ResourceKind } from '../resource/resource.js';
import type { CapabilityRecord } from './capability-record.js';

/** What of a process decides whether its capabilities work. */
export interface HolderState {
  readonly live: boolean;
  /** It is being stopped: it neither gives nor gets anything more. */
  readonly stopping: boolean;
  /** Its number, and those of the processes it was born under, root first. */
  readonly n: number;
  readonly path: readonly number[];
  readonly parent: Pid | null;
  /** The number of its view of memory. */
  readonly view: number;
  /** It has ended as it should, with a result or without. */
  readonly succeeded: boolean;
  /** The object that it has ended with. */
  readonly result: string | null;
  readonly generation: number;
  /** Capabilities of earlier generations are dead. */
  readonly authoritySince: number;
}

/** A capability as a list of them needs it; `n` is where the list goes on. */
export interface ScannedCapability {
  readonly n: number;
  readonly id: CapabilityId;
  readonly holder: Pid;
  readonly resource: string;
  readonly rights: number;
}

/** A row with its number. */
export interface NumberedCapability extends CapabilityRecord {
  readonly n: number;
}

/** Which page of what a process holds. */
export interface HolderPage {
  readonly kind?: ResourceKind;
  /** The last one of the page before. */
  readonly after?: Pick<NumberedCapability, 'resource' | 'n'> | undefined;
  readonly limit: number;
}

/** A capability as it was derived from another one. */
export interface LinkedCapability extends Omit<ScannedCapability, 'rights'> {
  /** Others that are not marked were derived from it in turn. */
  readonly hasBelow: boolean;
}

/** Rows of capabilities. Every method works inside the caller's unit. */
export interface CapabilityRepository {
  find(tx: ReadTx, id: CapabilityId): Promise<CapabilityRecord | undefined>;
  insert(tx: WriteTx, records: readonly CapabilityRecord[]): Promise<void>;
  /** All that `holder` was ever given, or those on resources of one kind. */
  findByHolder(tx: ReadTx, findHolder: Pid, kind?: ResourceKind): Promise<readonly CapabilityRecord[]>;
  /** The same in pages, in the order of their resources. */
  pageByHolder(tx: ReadTx, findHolder: Pid, page: HolderPage): Promise<readonly NumberedCapability[]>;
  /** Those on exactly one of these resource texts. */
  findByResource(tx: ReadTx, findHolder: Pid, resources: readonly string[]): Promise<readonly CapabilityRecord[]>;
  /** Whether there is one whose resource text begins so. */
  hasResourcePrefix(tx: ReadTx, findHolder: Pid, prefix: string): Promise<boolean>;
  /** Makes `to` the holder; nothing else changes. */
  setHolder(tx: WriteTx, record: CapabilityRecord, to: { pid: Pid; generation: number }): Promise<void>;
  /** Marks it as revoked, and as `sweeping` when there are others below it that are not marked. */
  revoke(tx: WriteTx, capability: Pick<CapabilityRecord, 'id' | 'holder' | 'resource'>): Promise<void>;
  /** Takes one use of each; false when one of them has none left, and then the unit must be refused. */
  takeUses(tx: WriteTx, records: readonly CapabilityRecord[]): Promise<boolean>;
  /** Those that are marked as `sweeping`. */
  findSweeping(tx: ReadTx, limit: number): Promise<readonly CapabilityId[]>;
  endSweeping(tx: WriteTx, id: CapabilityId): Promise<void>;
  /** Those derived from `parent` that are not marked as revoked, in pages. */
  pageLiveBelow(tx: ReadTx, parent: CapabilityId, after: number, limit: number): Promise<readonly LinkedCapability[]>;
  /** All that are not marked as revoked, in pages. */
  scan(tx: ReadTx, after: number, limit: number): Promise<readonly ScannedCapability[]>;
  /** The processes whose parent `pid` is, in order of birth. */
  findChildren(tx: ReadTx, pid: Pid): Promise<readonly Pid[]>;
  findHolder(tx: ReadTx, pid: Pid): Promise<HolderState | undefined>;
}
export const CapabilityRepository: Token<CapabilityRepository> = token('CapabilityRepository');

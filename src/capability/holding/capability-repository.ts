import type { CapabilityId, ObjectId, Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { ResourceKind } from '../resource/resource.js';
import type { CapabilityRecord } from './capability-record.js';

/** The part of a process row that authority and memory depend on. */
export interface HolderState {
  readonly live: boolean;
  /** It is being stopped: it neither gives nor gets anything more. */
  readonly stopping: boolean;
  /** Its row number, and those of the processes it was spawned under, root first. */
  readonly n: number;
  readonly path: readonly number[];
  readonly parent: Pid | null;
  /** The number of its view of memory. */
  readonly view: number;
  /** The object that says what it is to do. */
  readonly goal: ObjectId;
  /** It has exited without failure, with a result or without. */
  readonly succeeded: boolean;
  /** The object that it has ended with. */
  readonly result: string | null;
  readonly generation: number;
  /** Capabilities of earlier generations are dead. */
  readonly authoritySince: number;
}

/** The part of a capability that a scan reads; `n` is the row number, after which the next page starts. */
export interface ScannedCapability {
  readonly n: number;
  readonly id: CapabilityId;
  readonly holder: Pid;
  readonly resource: string;
  readonly rights: number;
}

/** A capability with its row number. */
export interface NumberedCapability extends CapabilityRecord {
  readonly n: number;
}

/** One page of the capabilities of a process. */
export interface HolderPage {
  readonly kind?: ResourceKind;
  /** The last item of the page before. */
  readonly after?: Pick<NumberedCapability, 'resource' | 'n'> | undefined;
  readonly limit: number;
}

/** A capability that was derived from another one. */
export interface LinkedCapability extends Omit<ScannedCapability, 'rights'> {
  readonly parent: CapabilityId | null;
  /** Whether there are capabilities below it that are not marked as revoked. */
  readonly hasBelow: boolean;
}

/** Rows of capabilities. Every method works inside the caller's unit. */
export interface CapabilityRepository {
  find(tx: ReadTx, id: CapabilityId): Promise<CapabilityRecord | undefined>;
  /** Those with these ids, in their order, without those that are not there. */
  findAll(tx: ReadTx, ids: readonly CapabilityId[]): Promise<readonly CapabilityRecord[]>;
  insert(tx: WriteTx, records: readonly CapabilityRecord[]): Promise<void>;
  /** All that a process was ever given, or those on resources of one kind. */
  findByHolder(tx: ReadTx, holder: Pid, kind?: ResourceKind): Promise<readonly CapabilityRecord[]>;
  /** Reads what these processes were ever given together, for a unit that will ask for one after another. */
  loadHolders(tx: WriteTx, holders: readonly Pid[]): Promise<void>;
  /** One page of all that a process was ever given, in the order of their resources. */
  pageByHolder(tx: ReadTx, holder: Pid, page: HolderPage): Promise<readonly NumberedCapability[]>;
  /** Those on exactly one of these resource texts. */
  findByResource(tx: ReadTx, holder: Pid, resources: readonly string[]): Promise<readonly CapabilityRecord[]>;
  /** Those of any holder on objects and namespaces whose resource is one of these, but for those of processes on their own. */
  findOnMemory(tx: ReadTx, resources: readonly string[]): Promise<readonly CapabilityRecord[]>;
  /** Whether one of them has a resource that begins with `prefix`. */
  hasMemoryPrefix(tx: ReadTx, prefix: string): Promise<boolean>;
  /** Whether the process was given one whose resource text begins with `prefix`. */
  hasResourcePrefix(tx: ReadTx, holder: Pid, prefix: string): Promise<boolean>;
  /** Makes `to` the holder; nothing else changes. */
  setHolder(tx: WriteTx, record: CapabilityRecord, to: { pid: Pid; generation: number }): Promise<void>;
  /** Marks it as revoked, and as `sweeping` when there are others below it that are not marked. */
  revoke(tx: WriteTx, capability: Pick<CapabilityRecord, 'id' | 'holder' | 'resource'>): Promise<void>;
  /** Marks capabilities that were found by `pageLiveBelow` as `revoke` does. */
  revokeAll(tx: WriteTx, capabilities: readonly Pick<LinkedCapability, 'id' | 'hasBelow'>[]): Promise<void>;
  /** Takes one use of each; false when one of them has none left, and then the unit must be refused. */
  takeUses(tx: WriteTx, records: readonly CapabilityRecord[]): Promise<boolean>;
  /** Those that are marked as `sweeping`. */
  findSweeping(tx: ReadTx, limit: number): Promise<readonly CapabilityId[]>;
  /** Takes the mark `sweeping` off. */
  endSweeping(tx: WriteTx, ids: readonly CapabilityId[]): Promise<void>;
  /** Those derived from `parent` that are not marked as revoked, in pages. */
  pageLiveBelow(tx: ReadTx, parent: CapabilityId, after: number, limit: number): Promise<readonly LinkedCapability[]>;
  /** Up to `limit` of those derived from any of `parents` that are not marked as revoked, those of one parent together. */
  findLiveBelow(tx: ReadTx, parents: readonly CapabilityId[], limit: number): Promise<readonly LinkedCapability[]>;
  /** All that are not marked as revoked, in pages. */
  scan(tx: ReadTx, after: number, limit: number): Promise<readonly ScannedCapability[]>;
  /** The processes whose parent is `pid`, in the order in which they were spawned. */
  findChildren(tx: ReadTx, pid: Pid): Promise<readonly Pid[]>;
  findHolder(tx: ReadTx, pid: Pid): Promise<HolderState | undefined>;
  /** The states of these processes, by pid, without those that are not there. */
  findHolders(tx: ReadTx, pids: readonly Pid[]): Promise<ReadonlyMap<Pid, HolderState>>;
}
export const CapabilityRepository: Token<CapabilityRepository> = token('CapabilityRepository');

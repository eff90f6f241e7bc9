import type { AuditRecord } from '../../audit/audit-record.js';
import type { LogReader } from '../../audit/query/log-reader.js';
import type { CapabilityId, Pid } from '../../base/ids.js';
import { Turns } from '../../base/turns.js';
import type { CapabilityRecord } from '../holding/capability-record.js';
import { inheritedRights } from '../holding/grants.js';
import {
  grantsIn,
  inheritedGrant,
  isEnd,
  mayTellOfGrants,
  namespacePattern,
  type RecordedGrant,
  type RecordedTransfer,
  spawnActions,
  transferIn,
} from './recorded-grants.js';

/** A capability as the log tells it. */
export interface RecordedCapability {
  readonly grant: RecordedGrant;
  /** In order. */
  readonly transfers: readonly RecordedTransfer[];
}

/** The holder when record `seq` was written. */
export function holderAt({ grant, transfers }: RecordedCapability, seq: number): Pid {
  return transfers.filter((transfer) => transfer.seq <= seq).at(-1)?.to ?? grant.holder;
}

/** The record by which its holder got it. */
export function receivedAt({ grant, transfers }: RecordedCapability): number {
  return transfers.at(-1)?.seq ?? grant.seq;
}

/**
 * Finds what the log tells of capabilities. The tables and the index of records only say where to look first: where they do
 * not lead to the record of the grant, the whole log is read.
 */
export class CapabilityHistory {
  private readonly found = new Map<CapabilityId, RecordedGrant>();
  private readonly scanned = new Map<CapabilityId, AuditRecord | undefined>();
  private readonly received = new Map<Pid, ReadonlyMap<CapabilityId, AuditRecord>>();

  constructor(private readonly log: LogReader) {}

  /**
   * `row`: the capability in its table, if it is there; `near`: processes that may have been its first holder. Undefined where
   * the log tells of no such grant, as for capabilities that older versions gave with a spawn.
   */
  async find(
    id: CapabilityId,
    row: CapabilityRecord | undefined,
    near: readonly (Pid | undefined)[],
  ): Promise<RecordedCapability | undefined> {
    const grant = (await this.findIndexed(id, row, near)) ?? (await this.findScanned(id));
    return grant === undefined ? undefined : { grant, transfers: await this.transfersOf(id) };
  }

  /** Reads the log once for all of `ids` that the index does not lead to. */
  async scan(ids: readonly CapabilityId[]): Promise<void> {
    const grants = new Map<CapabilityId, AuditRecord | undefined>(ids.map((id) => [id, undefined]));
    await this.log.scan(mayTellOfGrants, (record) => {
      for (const { capability } of grantsIn(record))
        if (grants.has(capability) && grants.get(capability) === undefined) grants.set(capability, record);
    });
    for (const [id, record] of grants) this.scanned.set(id, record);
  }

  /** The grant, where the index leads to its record from the first holder. */
  async findIndexed(
    id: CapabilityId,
    row: CapabilityRecord | undefined,
    near: readonly (Pid | undefined)[],
  ): Promise<RecordedGrant | undefined> {
    const known = this.found.get(id);
    if (known !== undefined) return known;
    const grant = await this.lookUp(id, row, near);
    if (grant !== undefined) this.found.set(id, grant);
    return grant;
  }

  private async lookUp(
    id: CapabilityId,
    row: CapabilityRecord | undefined,
    near: readonly (Pid | undefined)[],
  ): Promise<RecordedGrant | undefined> {
    const [first] = await this.transfersOf(id);
    for (const holder of first === undefined ? [...near, row?.holder] : [first.from]) {
      const record = holder === undefined ? undefined : (await this.findReceived(holder)).get(id);
      if (record !== undefined) return this.withResource(record, id);
    }
    return row === undefined ? undefined : this.findUnnamed(row, first?.from ?? row.holder);
  }

  /** The ids of all that the index says a process was given, in the order of the log. */
  async idsGivenTo(pid: Pid): Promise<CapabilityId[]> {
    return [...(await this.findReceived(pid)).keys()];
  }

  /** The records by which the index says that a process was given capabilities: grants and transfers. */
  private async findReceived(pid: Pid): Promise<ReadonlyMap<CapabilityId, AuditRecord>> {
    const known = this.received.get(pid);
    if (known !== undefined) return known;
    const received = new Map<CapabilityId, AuditRecord>();
    const turns = new Turns();
    for (const record of await this.log.recordsAbout(pid)) {
      await turns.next();
      for (const { capability, holder } of grantsIn(record)) if (holder === pid) received.set(capability, record);
      const transfer = transferIn(record);
      if (transfer !== undefined && !received.has(transfer.capability)) received.set(transfer.capability, record);
    }
    this.received.set(pid, received);
    return received;
  }

  private async transfersOf(id: CapabilityId): Promise<RecordedTransfer[]> {
    return (await this.log.changesOf(id)).flatMap((record) => transferIn(record) ?? []);
  }

  private async findScanned(id: CapabilityId): Promise<RecordedGrant | undefined> {
    if (!this.scanned.has(id)) await this.scan([id]);
    const record = this.scanned.get(id);
    return record === undefined ? undefined : this.withResource(record, id);
  }

  /** The inherited capability of a parent whose child was ended by an older version, which did not record it: told by its row. */
  private async findUnnamed(row: CapabilityRecord, holder: Pid): Promise<RecordedGrant | undefined> {
    const { id, grantedBy: child, parent, own } = row;
    if (own || parent !== null || row.resource !== namespacePattern(child) || row.rights !== inheritedRights)
      return undefined;
    const end = await this.log.newestState(child);
    if (end === undefined || !isEnd(end) || end.facts?.inherited !== undefined) return undefined;
    const records = await this.log.recordsAbout(child);
    const spawn = records.find(({ action }) => spawnActions.has(action));
    const moved = records.findLast(({ action }) => action === 'process.reparent');
    const heir = moved === undefined ? spawn?.actor : moved.facts?.to;
    return heir === holder ? inheritedGrant(id, holder, child, end.seq) : undefined;
  }

  private async withResource(record: AuditRecord, id: CapabilityId): Promise<RecordedGrant | undefined> {
    return grantsIn(await this.log.withPayload(record)).find(({ capability }) => capability === id);
  }
}

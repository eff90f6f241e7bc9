import type { AuditRecord } from '../../audit/audit-record.js';
import type { LogReader } from '../../audit/query/log-reader.js';
import type { CapabilityId, Pid } from '../../base/ids.js';
import type { CapabilityRecord } from '../holding/capability-record.js';
import { inheritedRights } from '../holding/grants.js';
import { rightsOfMask } from '../resource/rights.js';
import {
  grantsIn,
  mayTellOfGrants,
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

/**
 * Finds what the log tells of capabilities. The tables and the index of records only say where to look first: where they do
 * not lead to the record of the grant, the whole log is read.
 */
export class CapabilityHistory {
  private readonly scanned = new Map<CapabilityId, RecordedCapability | undefined>();

  private readonly received = new Map<Pid, Received>();

  constructor(private readonly log: LogReader) {}

  /**
   * `row`: the capability in its table, if it is there; `near`: processes that may have held it. Undefined where the log tells
   * of no such grant, as for capabilities that older versions gave with a spawn.
   */
  async find(
    id: CapabilityId,
    row: CapabilityRecord | undefined,
    near: readonly (Pid | undefined)[],
  ): Promise<RecordedCapability | undefined> {
    // A row that is gone tells no transfers: only the log has them.
    const indexed = row === undefined ? undefined : await this.findIndexed(id, row, [row.holder, ...near]);
    if (indexed !== undefined) return indexed;
    if (!this.scanned.has(id)) await this.scan([id]);
    return this.scanned.get(id);
  }

  /** Reads the log once for all of `ids`. */
  async scan(ids: readonly CapabilityId[]): Promise<void> {
    const grants = new Map<CapabilityId, [AuditRecord, RecordedGrant]>();
    const transfers = new Map<CapabilityId, RecordedTransfer[]>(ids.map((id) => [id, []]));
    await this.log.scan(mayTellOfGrants, (record) => {
      for (const grant of grantsIn(record)) {
        if (transfers.has(grant.capability) && !grants.has(grant.capability))
          grants.set(grant.capability, [record, grant]);
      }
      const transfer = transferIn(record, record.capability ?? '');
      if (transfer !== undefined) transfers.get(record.capability ?? '')?.push(transfer);
    });
    for (const id of ids) {
      const found = grants.get(id);
      const grant = found === undefined ? undefined : await this.withResource(found[0], id);
      this.scanned.set(id, grant === undefined ? undefined : { grant, transfers: transfers.get(id) ?? [] });
    }
  }

  /** Follows the transfers back from each process; undefined unless the first one leads to the grant. */
  async findIndexed(
    id: CapabilityId,
    row: CapabilityRecord,
    near: readonly (Pid | undefined)[],
  ): Promise<RecordedCapability | undefined> {
    const transfers = new Map<number, RecordedTransfer>();
    let grant: RecordedGrant | undefined;
    for (const [index, pid] of near.entries()) {
      if (pid === undefined) continue;
      const path = await this.followBack(id, pid);
      const found = path.grant ?? (index === 0 ? await this.findInherited(row, path.holder) : undefined);
      if (index === 0) grant = found;
      if (grant === undefined) return undefined;
      if (found !== undefined) for (const transfer of path.transfers) transfers.set(transfer.seq, transfer);
    }
    if (grant === undefined) return undefined;
    return { grant, transfers: [...transfers.values()].sort((a, b) => a.seq - b.seq) };
  }

  /** All that the index says a process was given. */
  private async findReceived(pid: Pid): Promise<Received> {
    const known = this.received.get(pid);
    if (known !== undefined) return known;
    const grants = new Map<CapabilityId, AuditRecord>();
    const transfers = new Map<CapabilityId, RecordedTransfer[]>();
    for (const record of await this.log.recordsAbout(pid)) {
      for (const { capability, holder } of grantsIn(record)) if (holder === pid) grants.set(capability, record);
      const id = record.capability ?? '';
      const transfer = transferIn(record, id);
      if (transfer !== undefined) transfers.set(id, [...(transfers.get(id) ?? []), transfer]);
    }
    const received = { grants, transfers };
    this.received.set(pid, received);
    return received;
  }

  /** The ids of all that the index says a process was given. */
  async idsGivenTo(pid: Pid): Promise<CapabilityId[]> {
    const { grants, transfers } = await this.findReceived(pid);
    return [...grants.keys(), ...transfers.keys()];
  }

  private async followBack(id: CapabilityId, from: Pid) {
    const transfers: RecordedTransfer[] = [];
    for (let holder = from, before = Number.MAX_SAFE_INTEGER; ; ) {
      const received = await this.findReceived(holder);
      const transfer = received.transfers.get(id)?.findLast(({ seq }) => seq < before);
      if (transfer === undefined) {
        const granting = received.grants.get(id);
        const grant = granting === undefined ? undefined : await this.withResource(granting, id);
        return { holder, transfers, grant };
      }
      transfers.push(transfer);
      holder = transfer.from;
      before = transfer.seq;
    }
  }

  /** The capability that a parent inherits from an ended child has no record of its own: it follows from its parent. */
  private async findInherited(row: CapabilityRecord, holder: Pid): Promise<RecordedGrant | undefined> {
    const { id: capability, grantedBy: child, parent, own } = row;
    const resource = `ns:process/${child}/**`;
    if (own || parent !== null || row.resource !== resource || row.rights !== inheritedRights) return undefined;
    const records = await this.log.recordsAbout(child);
    const spawn = records.find(({ action }) => spawnActions.has(action));
    if (spawn === undefined) return undefined;
    const moved = records.findLast(({ action }) => action === 'process.reparent');
    const heir = moved === undefined ? spawn.actor : moved.facts?.to;
    if (heir !== holder) return undefined;
    return { capability, holder, seq: spawn.seq, resource, rights: rightsOfMask(row.rights), grantedBy: child, parent };
  }

  private async withResource(record: AuditRecord, id: CapabilityId): Promise<RecordedGrant | undefined> {
    return grantsIn(await this.log.withPayload(record)).find(({ capability }) => capability === id);
  }
}

/** The records of the grants to a process, and the transfers to it. */
interface Received {
  readonly grants: ReadonlyMap<CapabilityId, AuditRecord>;
  readonly transfers: ReadonlyMap<CapabilityId, readonly RecordedTransfer[]>;
}

import { inject, injectable } from 'inversify';
import { type AuditRecord, decodeRecord } from '../../audit/audit-record.js';
import { AuditRepository } from '../../audit/audit-repository.js';
import type { Lineage, LineageCapability, LineageProcess, LineageQuery } from '../../audit/query/lineage.js';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { Pid } from '../../base/ids.js';
import { type ReadTx, Store } from '../../base/store.js';
import { Evaluator } from '../../capability/decision/evaluator.js';
import type { CapabilityRecord } from '../../capability/holding/capability-record.js';
import { CapabilityRepository } from '../../capability/holding/capability-repository.js';
import { rightsOfMask } from '../../capability/resource/rights.js';
import { parsePid } from '../specs.js';
import type { ProcessRow } from './process.js';
import { ProcessLookup } from './process-lookup.js';
import { ProcessRepository } from './process-repository.js';

/** Reads the lineage of a process from the process table, the capabilities and the audit records about it. */
@injectable()
export class ProcessLineage implements LineageQuery {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(AuditRepository) private readonly audit: AuditRepository,
  ) {}

  async lineage(input: Pid): Promise<Lineage> {
    const pid = parsePid(input);
    return this.store.read(async (tx) => {
      const row = await this.lookup.get(tx, pid);
      return {
        process: toLineageProcess(row),
        ancestors: await this.findAncestors(tx, row),
        capabilities: await this.findCapabilities(tx, pid),
        history: await this.findHistory(tx, pid),
      };
    });
  }

  private async findAncestors(tx: ReadTx, row: ProcessRow): Promise<LineageProcess[]> {
    const ancestors: LineageProcess[] = [];
    for (const rowNumber of [...row.path].reverse()) {
      const ancestor = await this.processes.findByNumber(tx, rowNumber);
      if (ancestor !== undefined) ancestors.push(toLineageProcess(ancestor));
    }
    return ancestors;
  }

  private async findCapabilities(tx: ReadTx, pid: Pid): Promise<LineageCapability[]> {
    const held: LineageCapability[] = [];
    for (const record of await this.capabilities.findByHolder(tx, pid)) {
      const { id, resource } = record;
      const status = await this.evaluator.statusOf(tx, record, this.clock.peek());
      held.push({
        id,
        resource,
        rights: rightsOfMask(record.rights),
        status,
        chain: await this.findChain(tx, record),
      });
    }
    return held;
  }

  private async findChain(tx: ReadTx, record: CapabilityRecord): Promise<LineageCapability['chain']> {
    const chain: CapabilityRecord[] = [];
    for (let current: CapabilityRecord | undefined = record; current !== undefined; ) {
      chain.push(current);
      current = current.parent === null ? undefined : await this.capabilities.find(tx, current.parent);
    }
    return chain.map(({ id, holder, grantedBy }) => ({ id, holder, grantedBy }));
  }

  private async findHistory(tx: ReadTx, pid: Pid): Promise<AuditRecord[]> {
    const records: AuditRecord[] = [];
    for (const stored of await this.audit.recordsAbout(tx, pid)) {
      const [payload] = await this.audit.payloads(tx, stored.seq, stored.seq);
      records.push(decodeRecord(stored, payload));
    }
    return records;
  }
}

function toLineageProcess(row: ProcessRow): LineageProcess {
  const { pid, bornUnder, image, goal, status, outcome, createdAt, exitedAt } = row;
  return {
    pid,
    spawnedBy: bornUnder ?? 'host',
    image,
    goal,
    status,
    ...(outcome === null ? {} : { outcome: outcome.kind }),
    createdAt,
    ...(exitedAt === null ? {} : { exitedAt }),
  };
}

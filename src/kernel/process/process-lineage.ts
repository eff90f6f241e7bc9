import { inject, injectable } from 'inversify';
import { notOnRecord } from '../../audit/audit-errors.js';
import type { AuditRecord } from '../../audit/audit-record.js';
import { AuditRepository } from '../../audit/audit-repository.js';
import type { AuthorityLink } from '../../audit/query/authority-trace.js';
import type { Lineage, LineageCapability, LineageProcess, LineageQuery } from '../../audit/query/lineage.js';
import { LogReader } from '../../audit/query/log-reader.js';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { CapabilityId, Pid } from '../../base/ids.js';
import { type ReadTx, Store } from '../../base/store.js';
import { authorityChain } from '../../capability/decision/authority-chain.js';
import { CapabilityHistory, holderAt } from '../../capability/decision/capability-history.js';
import { Evaluator } from '../../capability/decision/evaluator.js';
import type { CapabilityRecord } from '../../capability/holding/capability-record.js';
import { CapabilityRepository } from '../../capability/holding/capability-repository.js';
import { parsePid } from '../specs.js';
import { isTerminal } from './process.js';
import { noSuchProcess } from './process-lookup.js';
import { ProcessRepository } from './process-repository.js';
import { isHistory, lifeIn, toLineageProcess } from './recorded-life.js';

/** Tells the lineage of a process from the audit log; the tables only say where to look, and the state of what still lives. */
@injectable()
export class ProcessLineage implements LineageQuery {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(AuditRepository) private readonly audit: AuditRepository,
  ) {}

  async lineage(input: Pid): Promise<Lineage> {
    const pid = parsePid(input);
    return this.store.read(async (tx) => {
      const log = new LogReader(tx, this.audit);
      const process = await this.findProcess(tx, log, pid);
      return {
        process,
        ancestors: await this.findAncestors(tx, log, process),
        capabilities: await this.findCapabilities(tx, log, pid),
        history: await this.findHistory(log, pid),
      };
    });
  }

  private async findProcess(tx: ReadTx, log: LogReader, pid: Pid): Promise<LineageProcess> {
    const row = await this.processes.find(tx, pid);
    let life = lifeIn(await log.recordsAbout(pid), pid);
    if (row === undefined && life.spawn === undefined) throw noSuchProcess(pid);
    const hasEnded = row === undefined || isTerminal(row.status);
    // Ends are not indexed, nor are the spawns of older versions.
    if (life.spawn === undefined || (hasEnded && life.end === undefined)) {
      const records: AuditRecord[] = [];
      const isCandidate = (body: string) => body.includes(`"target":${JSON.stringify(pid)}`);
      await log.scan(isCandidate, (record) => void records.push(record));
      life = lifeIn(records, pid);
    }
    const { spawn, end } = life;
    if (spawn === undefined) throw notOnRecord(`no record tells that ${pid} was spawned.`, { pid });
    if (hasEnded && end === undefined) throw notOnRecord(`no record tells that ${pid} has ended.`, { pid });
    return toLineageProcess(pid, spawn, life, row?.status ?? '');
  }

  private async findAncestors(tx: ReadTx, log: LogReader, { spawnedBy }: LineageProcess): Promise<LineageProcess[]> {
    const ancestors: LineageProcess[] = [];
    for (let pid = spawnedBy; pid !== 'host'; pid = ancestors.at(-1)?.spawnedBy ?? 'host')
      ancestors.push(await this.findProcess(tx, log, pid));
    return ancestors;
  }

  private async findCapabilities(tx: ReadTx, log: LogReader, pid: Pid): Promise<LineageCapability[]> {
    const history = new CapabilityHistory(log);
    const rows = new Map<CapabilityId, CapabilityRecord | undefined>();
    for (const row of await this.capabilities.findByHolder(tx, pid)) rows.set(row.id, row);
    for (const id of await history.idsGivenTo(pid)) {
      if (!rows.has(id)) rows.set(id, await this.capabilities.find(tx, id));
    }
    await this.scanUnindexed(history, rows, pid);
    const held: LineageCapability[] = [];
    for (const [id, row] of rows) {
      const recorded = await history.find(id, row, [pid]);
      const holder = recorded === undefined ? row?.holder : holderAt(recorded, Number.MAX_SAFE_INTEGER);
      if (holder === pid) held.push(await this.toLineageCapability(tx, log, history, pid, id, row));
    }
    return held;
  }

  /** Reads the log once for all that the index does not lead to. */
  private async scanUnindexed(
    history: CapabilityHistory,
    rows: ReadonlyMap<CapabilityId, CapabilityRecord | undefined>,
    pid: Pid,
  ): Promise<void> {
    const unindexed: CapabilityId[] = [];
    for (const [id, row] of rows) {
      if (row === undefined || (await history.findIndexed(id, row, [row.holder, pid])) === undefined)
        unindexed.push(id);
    }
    if (unindexed.length > 0) await history.scan(unindexed);
  }

  private async toLineageCapability(
    tx: ReadTx,
    log: LogReader,
    history: CapabilityHistory,
    pid: Pid,
    id: CapabilityId,
    row: CapabilityRecord | undefined,
  ): Promise<LineageCapability> {
    const start = { id, near: [pid], seq: Number.MAX_SAFE_INTEGER };
    const { links, isWhole } = await authorityChain(tx, this.capabilities, history, start);
    const [own] = links;
    if (own === undefined || (!isWhole && !(await this.isGiverPruned(tx, links))))
      throw notOnRecord(`nothing tells where ${id} came from.`, { capability: id });
    const { resource, rights, unrecorded } = own;
    return {
      id,
      resource,
      rights,
      status: await this.statusOf(tx, log, { links, isWhole }, row),
      ...(unrecorded === undefined ? {} : { unrecorded }),
      chain: links.map((link) => ({
        id: link.capability,
        holder: link.holder,
        grantedBy: link.grantedBy,
        ...(link.unrecorded === undefined ? {} : { unrecorded: link.unrecorded }),
      })),
    };
  }

  /** Revoked where the log tells that it, or one that it was derived from, was revoked. */
  private async statusOf(
    tx: ReadTx,
    log: LogReader,
    { links, isWhole }: { readonly links: readonly AuthorityLink[]; readonly isWhole: boolean },
    row: CapabilityRecord | undefined,
  ): Promise<string> {
    for (const { capability: id, holder } of links) {
      const isRevocation = ({ action, outcome, capability }: AuditRecord) =>
        action === 'capability.revoke' && outcome === 'ok' && capability === id;
      if ((await log.recordsAbout(holder)).some(isRevocation)) return 'revoked';
    }
    if (row !== undefined) return this.evaluator.statusOf(tx, row, this.clock.peek());
    // The capabilities of a pruned process went with it, and what was derived from them.
    for (const { holder } of links) if ((await this.processes.find(tx, holder)) === undefined) return 'ended';
    return isWhole ? 'missing' : 'ended';
  }

  /** Whether the log tells no more of a chain because its next link, of a process that was pruned, had no record of its own. */
  private async isGiverPruned(tx: ReadTx, links: readonly AuthorityLink[]): Promise<boolean> {
    const giver = links.at(-1)?.grantedBy;
    return giver !== undefined && (await this.processes.find(tx, giver)) === undefined;
  }

  private async findHistory(log: LogReader, pid: Pid): Promise<AuditRecord[]> {
    const records: AuditRecord[] = [];
    for (const record of (await log.recordsAbout(pid)).filter(isHistory)) records.push(await log.withPayload(record));
    return records;
  }
}

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
import { Turns } from '../../base/turns.js';
import { type AuthorityChain, authorityChain } from '../../capability/decision/authority-chain.js';
import { CapabilityHistory, holderAt, receivedAt } from '../../capability/decision/capability-history.js';
import { Evaluator } from '../../capability/decision/evaluator.js';
import { isEnd } from '../../capability/decision/recorded-grants.js';
import { RecordedStatuses } from '../../capability/decision/recorded-status.js';
import type { CapabilityRecord } from '../../capability/holding/capability-record.js';
import { CapabilityRepository } from '../../capability/holding/capability-repository.js';
import { parsePid } from '../specs.js';
import { isTerminal } from './process.js';
import { noSuchProcess } from './process-lookup.js';
import { ProcessRepository } from './process-repository.js';
import { isHistory, lifeIn, toLineageProcess } from './recorded-life.js';

/** Tells the lineage of a process from the audit log; the tables only say where to look, and what older versions did not record. */
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
    const state = await log.newestState(pid);
    if (row === undefined && state === undefined) throw noSuchProcess(pid);
    let life = lifeIn(await log.recordsAbout(pid), pid);
    // The spawns of older versions are not indexed.
    if (life.spawn === undefined) {
      const records: AuditRecord[] = [];
      const isCandidate = (body: string) => body.includes(`"target":${JSON.stringify(pid)}`);
      await log.scan(isCandidate, (record) => void records.push(record));
      life = lifeIn(records, pid);
    }
    const { spawn, exec } = life;
    if (spawn === undefined || state === undefined)
      throw notOnRecord(`no record tells that ${pid} was spawned.`, { pid });
    const hasEnded = row === undefined || isTerminal(row.status);
    if (hasEnded && !isEnd(state)) throw notOnRecord(`no record tells that ${pid} has ended.`, { pid });
    return toLineageProcess(pid, spawn, exec, state);
  }

  private async findAncestors(tx: ReadTx, log: LogReader, { spawnedBy }: LineageProcess): Promise<LineageProcess[]> {
    const ancestors: LineageProcess[] = [];
    for (let pid = spawnedBy; pid !== 'host'; pid = ancestors.at(-1)?.spawnedBy ?? 'host')
      ancestors.push(await this.findProcess(tx, log, pid));
    return ancestors;
  }

  private async findCapabilities(tx: ReadTx, log: LogReader, pid: Pid): Promise<LineageCapability[]> {
    const history = new CapabilityHistory(log);
    const statuses = new RecordedStatuses(log, this.clock.peek());
    const rows = new Map<CapabilityId, CapabilityRecord | undefined>();
    const held = new Map((await this.capabilities.findByHolder(tx, pid)).map((row) => [row.id, row]));
    for (const id of await history.idsGivenTo(pid))
      rows.set(id, held.get(id) ?? (await this.capabilities.find(tx, id)));
    for (const [id, row] of held) rows.set(id, row);
    await this.scanUnindexed(history, rows, pid);
    const told: { readonly seq: number; readonly capability: LineageCapability }[] = [];
    const turns = new Turns();
    for (const [id, row] of rows) {
      await turns.next();
      const recorded = await history.find(id, row, [pid]);
      const holder = recorded === undefined ? row?.holder : holderAt(recorded, Number.MAX_SAFE_INTEGER);
      if (holder !== pid) continue;
      const seq = recorded === undefined ? Number.MAX_SAFE_INTEGER : receivedAt(recorded);
      const capability = await this.toLineageCapability(tx, { log, history, statuses }, pid, id, row);
      told.push({ seq, capability });
    }
    return told.sort((a, b) => a.seq - b.seq).map(({ capability }) => capability);
  }

  /** Reads the log once for all that the index does not lead to. */
  private async scanUnindexed(
    history: CapabilityHistory,
    rows: ReadonlyMap<CapabilityId, CapabilityRecord | undefined>,
    pid: Pid,
  ): Promise<void> {
    const unindexed: CapabilityId[] = [];
    const turns = new Turns();
    for (const [id, row] of rows) {
      await turns.next();
      if ((await history.findIndexed(id, row, [pid])) === undefined) unindexed.push(id);
    }
    if (unindexed.length > 0) await history.scan(unindexed);
  }

  private async toLineageCapability(
    tx: ReadTx,
    { log, history, statuses }: LogAnswers,
    pid: Pid,
    id: CapabilityId,
    row: CapabilityRecord | undefined,
  ): Promise<LineageCapability> {
    const start = { id, near: [pid], seq: Number.MAX_SAFE_INTEGER };
    const chain = await authorityChain(tx, this.capabilities, history, start);
    const { links, isWhole } = chain;
    const [own] = links;
    if (own === undefined || (!isWhole && !(await this.isGiverPruned(tx, log, links))))
      throw notOnRecord(`nothing tells where ${id} came from.`, { capability: id });
    const { resource, rights } = own;
    const { status, unrecorded = own.unrecorded } = await this.statusOf(tx, statuses, chain, row);
    return {
      id,
      resource,
      rights,
      status,
      ...(unrecorded === undefined ? {} : { unrecorded }),
      chain: links.map((link) => ({
        id: link.capability,
        holder: link.holder,
        grantedBy: link.grantedBy,
        ...(link.unrecorded === undefined ? {} : { unrecorded: link.unrecorded }),
      })),
    };
  }

  /** By the log where it tells all that the status depends on; otherwise as the table has it, unless the log tells of an end. */
  private async statusOf(
    tx: ReadTx,
    statuses: RecordedStatuses,
    { links, recorded, isWhole }: AuthorityChain,
    row: CapabilityRecord | undefined,
  ): Promise<Pick<LineageCapability, 'status' | 'unrecorded'>> {
    const status = await statuses.statusOf(recorded);
    const isTold =
      isWhole && recorded.length === links.length && recorded.every(({ grant }) => grant.limits !== undefined);
    if (status !== 'live' || isTold) return { status };
    if (row !== undefined)
      return { status: await this.evaluator.statusOf(tx, row, this.clock.peek()), unrecorded: true };
    // Capabilities that were derived from those of a pruned process were removed with them.
    return { status: isWhole ? 'missing' : 'ended', unrecorded: true };
  }

  /** Whether the log tells no more of a chain because its next link, of a process that was pruned, had no record of its own. */
  private async isGiverPruned(tx: ReadTx, log: LogReader, links: readonly AuthorityLink[]): Promise<boolean> {
    const giver = links.at(-1)?.grantedBy;
    if (giver === undefined || (await this.processes.find(tx, giver)) !== undefined) return false;
    const state = await log.newestState(giver);
    return state !== undefined && isEnd(state);
  }

  private async findHistory(log: LogReader, pid: Pid): Promise<AuditRecord[]> {
    const records: AuditRecord[] = [];
    for (const record of (await log.recordsAbout(pid)).filter(isHistory)) records.push(await log.withPayload(record));
    return records;
  }
}

/** Parts of the log, read for one lineage. */
interface LogAnswers {
  readonly log: LogReader;
  readonly history: CapabilityHistory;
  readonly statuses: RecordedStatuses;
}

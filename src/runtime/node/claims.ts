import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { isOutcomeUnknown } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import { Logger } from '../../base/logger.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { type ReadTx, Store, type WriteTx } from '../../base/store.js';
import { ProcessEnds } from '../../kernel/lifecycle/process-ends.js';
import { ClaimRepository, type RunnablePage } from '../../kernel/process/claim-repository.js';
import { isParked, type Outcome, type ProcessRow } from '../../kernel/process/process.js';
import { ProcessRepository, saveProcess } from '../../kernel/process/process-repository.js';
import { ProcessResults } from '../../kernel/process/process-results.js';
import { isStateKey } from '../../kernel/process/renewed-state.js';
import { type RunEntry, RunEntryRepository } from '../../kernel/process/run-entry-repository.js';
import { nextState } from '../../kernel/process/transitions.js';
import type { Act } from '../../unit/act.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { buildOf } from '../image/image-build.js';
import type { ParsedImage } from '../image/image-definition.js';
import { MemoryImageRegistry } from '../image/image-registry.js';
import { RecordedRun, recordedEntries } from '../run/recorded-run.js';
import type { RunStart } from '../run/run.js';
import { pathOf } from '../run/run-errors.js';
import { NodeLease } from './node-lease.js';
import { NodeOffering } from './node-offering.js';
import type { SlotBatch } from './slots.js';
import { StrayStarts } from './stray-starts.js';

/** The number of starts that may be lost with their nodes in a row, for images that do not say it. */
const recoveriesMaxDefault = 5;
/** A process that has lost this many starts in a row runs beside no other such process of the node. */
const suspectRecoveries = 2;
/** The most processes that one unit claims. */
const claimedMax = 32;
/** Images of one node that wait for other code are few: all of their processes are looked at. */
const parkedMax = 10_000;

/** What one unit has claimed. */
export interface Claimed {
  readonly starts: readonly RunStart[];
  /** Whether there may be more that this node can claim. */
  readonly hasMore: boolean;
  /** A process that runs here, and that has to get on before others are claimed which have lost starts as it has. */
  readonly suspect: Pid | undefined;
}

/** A unit that claims: it can be run again, and then begins anew. */
interface ClaimUnit {
  readonly starts: RunStart[];
  readonly poisoned: JsonObject[];
  readonly slots: SlotBatch;
  /** Of this node, among those that were running before or that this unit has claimed. */
  suspect: Pid | undefined;
}

/** Claims runnable processes for this node, many in one unit: of two nodes that try, each gets others. */
@injectable()
export class Claims {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(NodeLease) private readonly lease: NodeLease,
    @inject(NodeOffering) private readonly offering: NodeOffering,
    @inject(MemoryImageRegistry) private readonly images: MemoryImageRegistry,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ClaimRepository) private readonly claimable: ClaimRepository,
    @inject(RunEntryRepository) private readonly entries: RunEntryRepository,
    @inject(ProcessResults) private readonly results: ProcessResults,
    @inject(ProcessEnds) private readonly processEnds: ProcessEnds,
    @inject(RecordedRun) private readonly recorded: RecordedRun,
    @inject(StrayStarts) private readonly strays: StrayStarts,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  /**
   * Makes the oldest runnable processes that this node can run `running` on it, as many as there are slots, and reads their
   * journals. `skipped` are left out. Throws LEASE_LOST when the epoch of this node has ended.
   */
  async claimOldest(slots: SlotBatch, skipped: ReadonlySet<Pid>): Promise<Claimed> {
    return this.commit(slots, async (tx, unit) => {
      const limit = Math.min(slots.free, claimedMax);
      const pids = await this.findOldest(tx, { limit: limit + skipped.size }, skipped);
      const rows = await this.processes.findAll(tx, pids.slice(0, limit));
      await this.claimRows(tx, unit, rows);
      const hasMore = pids.length >= limit && limit > 0;
      if (hasMore && unit.suspect !== undefined && unit.slots.free > 0) {
        await this.claimBehind(tx, unit, rows.at(-1)?.n ?? 0, skipped);
      }
      return hasMore;
    });
  }

  /** Claims those of `pids` that this node can claim, runnable or waiting for code; more than there are slots are left. */
  async claimThese(slots: SlotBatch, pids: readonly Pid[]): Promise<Claimed> {
    return this.commit(slots, async (tx, unit) => {
      const rows = await this.processes.findAll(tx, pids);
      await this.claimRows(
        tx,
        unit,
        rows.filter((row) => this.isClaimable(row)),
      );
      return false;
    });
  }

  /** Whether a new process can be started in the unit that creates it. */
  async canStart(tx: ReadTx, row: ProcessRow): Promise<boolean> {
    if (row.status !== 'runnable' || this.recorded.calls !== undefined) return false;
    if (this.images.findRunnable(row.image) === undefined || !this.offering.canRun(row)) return false;
    return this.lease.isLive(tx);
  }

  /** Starts a new process in the unit that creates it. */
  startNew(tx: WriteTx, { at }: Act, row: ProcessRow): Promise<RunStart> {
    return this.start(tx, this.actAt(at), row);
  }

  /** Whether a process is runnable that this node can claim. `withSuspects`: also one that has lost several starts. */
  hasRunnable(skipped: ReadonlySet<Pid>, withSuspects: boolean): Promise<boolean> {
    const page = { limit: skipped.size + 1, ...(withSuspects ? {} : { recoveriesBelow: suspectRecoveries }) };
    return this.store.read(async (tx) => (await this.findOldest(tx, page, skipped)).length > 0);
  }

  /** The oldest runnable processes that this node can run. */
  listOldest(skipped: ReadonlySet<Pid>): Promise<Pid[]> {
    return this.store.read((tx) => this.findOldest(tx, { limit: claimedMax + skipped.size }, skipped));
  }

  /** The processes that wait for code and that this node has other code for; `pids`: only among these. */
  listParked(pids?: readonly Pid[]): Promise<Pid[]> {
    return this.store.read(async (tx) => {
      const parked = pids ?? (await this.claimable.findParked(tx, this.offering.claimable, parkedMax));
      const rows = await this.processes.findAll(tx, parked);
      return rows.filter((row) => this.isClaimable(row)).map(({ pid }) => pid);
    });
  }

  /** Whether nothing runs on this node, nothing is runnable that it can run, and no command waits to be started by it. */
  isIdle(): Promise<boolean> {
    return this.store.read(async (tx) => {
      const { nodeId } = this.node;
      if (await this.processes.isRunningOn(tx, nodeId)) return false;
      if ((await this.claimable.findRunnable(tx, this.offering.claimable, { limit: 1 })).length > 0) return false;
      const { claimableCommands } = this.offering;
      if (claimableCommands.images.length === 0) return true;
      return (await this.claimable.findUnstarted(tx, claimableCommands, 1)).length === 0;
    });
  }

  private async commit(slots: SlotBatch, work: (tx: WriteTx, unit: ClaimUnit) => Promise<boolean>): Promise<Claimed> {
    let unit: ClaimUnit = { starts: [], poisoned: [], slots, suspect: undefined };
    let hasMore = false;
    try {
      hasMore = await this.store.write(async (tx) => {
        slots.giveBack();
        unit = { starts: [], poisoned: [], slots, suspect: undefined };
        return work(tx, unit);
      });
    } catch (error) {
      if (isOutcomeUnknown(error)) this.strays.add(unit.starts.map(({ row }) => row.pid));
      throw error;
    }
    for (const facts of unit.poisoned)
      this.logger.error(facts, 'a process was failed as poisoned: its runs were lost with their nodes');
    return { starts: unit.starts, hasMore, suspect: unit.suspect };
  }

  private async findOldest(tx: ReadTx, page: RunnablePage, skipped: ReadonlySet<Pid>): Promise<Pid[]> {
    const pids = await this.claimable.findRunnable(tx, this.offering.claimable, page);
    return skipped.size === 0 ? pids : pids.filter((pid) => !skipped.has(pid));
  }

  /** Claims those behind the row with this number that have lost no starts: the ones before it may wait for a suspect. */
  private async claimBehind(tx: WriteTx, unit: ClaimUnit, after: number, skipped: ReadonlySet<Pid>): Promise<void> {
    const { free } = unit.slots;
    const page = { limit: free + skipped.size, after, recoveriesBelow: suspectRecoveries };
    const pids = await this.findOldest(tx, page, skipped);
    await this.claimRows(tx, unit, await this.processes.findAll(tx, pids.slice(0, free)));
  }

  private async claimRows(tx: WriteTx, unit: ClaimUnit, rows: readonly ProcessRow[]): Promise<void> {
    if (rows.length === 0) return;
    await this.lease.assertLive(tx);
    if (this.recorded.calls === undefined) {
      const begun = rows.filter(({ startedAt }) => startedAt !== null);
      await this.entries.load(
        tx,
        begun.map(({ n }) => n),
      );
    }
    await this.results.loadGoals(tx, rows);
    const act = this.actAt(this.clock.now());
    for (const row of rows) await this.claimRow(tx, act, unit, row);
  }

  private async claimRow(tx: WriteTx, act: Act, unit: ClaimUnit, row: ProcessRow): Promise<void> {
    const image = this.images.findRunnable(row.image);
    if (image === undefined || !this.offering.canRun(row)) return;
    if (row.recoveries >= (image.recoveriesMax ?? recoveriesMaxDefault)) {
      unit.poisoned.push(await this.failPoisoned(tx, act, row));
      return;
    }
    const isSuspect = row.recoveries >= suspectRecoveries;
    if (isSuspect) unit.suspect ??= await this.claimable.findSuspect(tx, this.node.nodeId, suspectRecoveries);
    if ((isSuspect && unit.suspect !== undefined) || !unit.slots.tryTake()) return;
    unit.starts.push(await this.start(tx, act, row));
    if (isSuspect) unit.suspect = row.pid;
  }

  private isClaimable(row: ProcessRow): boolean {
    const image = this.images.findRunnable(row.image);
    return image !== undefined && this.offering.canRun(row) && isClaimable(row, image);
  }

  private actAt(at: number): Act {
    return { actor: 'kernel', via: `host:${this.node.operator}`, at };
  }

  private async start(tx: WriteTx, act: Act, row: ProcessRow): Promise<RunStart> {
    const entries = await this.findEntries(tx, row);
    const runnable = row.status === 'waiting' ? nextState(row, 'wake') : row;
    const started: ProcessRow = {
      ...nextState(runnable, 'start'),
      version: row.version + 1,
      node: this.node.nodeId,
      startedAt: row.startedAt ?? act.at,
      updatedAt: act.at,
    };
    await saveProcess(this.processes, tx, started);
    const { kind, attempt, fence } = started;
    const node = this.node.nodeId;
    const recorded = entries.filter(({ key }) => !isStateKey(key)).length;
    const record = this.recorder.record(tx, act, started, {
      event: 'process.started',
      data: { kind, node, attempt, recorded },
      action: 'process.start',
      before: row.status,
      after: started.status,
      facts: { node, attempt, fence, recorded },
    });
    const goal = await this.results.goalHandleOf(tx, started, act.at);
    const { recorded: replayed } = this;
    if (replayed.calls === undefined) return { row: started, goal, entries, record };
    return { row: { ...started, attempt: replayed.attempt ?? attempt }, goal, entries, record, replayed };
  }

  private async findEntries(tx: WriteTx, { n, startedAt }: ProcessRow): Promise<RunEntry[]> {
    const { calls } = this.recorded;
    if (calls !== undefined) return recordedEntries(n, calls);
    return startedAt === null ? [] : this.entries.findAll(tx, n);
  }

  /** Fails a process whose body takes down every node that runs it. */
  private async failPoisoned(tx: WriteTx, act: Act, row: ProcessRow): Promise<JsonObject> {
    const { pid, image, recoveries } = row;
    const underWay = lastBegun(await this.entries.findAll(tx, row.n));
    const step = underWay === undefined ? {} : { step: pathOf(underWay.key) };
    const evidence = { kind: 'poisoned', recoveries, ...step };
    const outcome: Outcome = { kind: 'failed', reason: 'poisoned', evidence };
    const where = step.step === undefined ? 'before its first call' : `in ${JSON.stringify(step.step)}`;
    const message = `Its runs were lost with their nodes ${recoveries} times in a row, ${where}.`;
    await this.processEnds.end(tx, act, {
      row,
      ended: nextState(row, 'fail'),
      outcome,
      action: 'process.poisoned',
      message,
    });
    return { pid, image, recoveries, ...step };
  }
}

/** Whether the process is runnable, or waits for code and `image` is a build that has not failed to replay its journal. */
function isClaimable(row: ProcessRow, image: ParsedImage): boolean {
  if (row.status === 'runnable') return true;
  return row.status === 'waiting' && isParked(row) && row.failedBuilds?.includes(buildOf(image)) !== true;
}

/** The call that has begun last, of those without an answer. */
function lastBegun(entries: readonly RunEntry[]): RunEntry | undefined {
  const begun = entries.filter(({ status }) => status === 'started');
  return begun.sort((a, b) => a.at - b.at).at(-1);
}

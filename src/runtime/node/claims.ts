import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { Pid } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import { Logger } from '../../base/logger.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { type ReadTx, Store, type WriteTx } from '../../base/store.js';
import { ProcessEnds } from '../../kernel/lifecycle/process-ends.js';
import { ClaimRepository } from '../../kernel/process/claim-repository.js';
import { isParked, type Outcome, type ProcessRow } from '../../kernel/process/process.js';
import { ProcessRepository, saveProcess } from '../../kernel/process/process-repository.js';
import { ProcessResults } from '../../kernel/process/process-results.js';
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
import { UnplacedProcesses } from './unplaced-processes.js';

/** The number of starts that may be lost with their nodes in a row, for images that do not say it. */
const recoveriesMaxDefault = 5;
/** A process that has lost this many starts in a row runs beside no other such process of the node. */
const suspectRecoveries = 2;
const claimableMax = 10_000;

/** A run to be started, or the process that has to get on first; undefined where there is nothing to claim. */
export type ClaimResult = { readonly start: RunStart } | { readonly after: Pid } | undefined;

/** A process that was failed, because its runs were lost with their nodes. */
interface Poisoned {
  readonly poisoned: JsonObject;
}

/** Claims runnable processes for this node, each in one unit: of two nodes that try, one gets it. */
@injectable()
export class Claims {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(NodeLease) private readonly lease: NodeLease,
    @inject(NodeOffering) private readonly offering: NodeOffering,
    @inject(MemoryImageRegistry) private readonly images: MemoryImageRegistry,
    @inject(UnplacedProcesses) private readonly unplaced: UnplacedProcesses,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ClaimRepository) private readonly claimable: ClaimRepository,
    @inject(RunEntryRepository) private readonly entries: RunEntryRepository,
    @inject(ProcessResults) private readonly results: ProcessResults,
    @inject(ProcessEnds) private readonly processEnds: ProcessEnds,
    @inject(RecordedRun) private readonly recorded: RecordedRun,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  /**
   * Makes the process `running` on this node and reads its journal. Undefined when it is not runnable, when it waits for
   * other code than this node has, or when this node lacks its image or a tool that the image names, or does not claim from
   * its queue. Throws LEASE_LOST when the epoch of this node has ended.
   */
  async claim(pid: Pid): Promise<ClaimResult> {
    const result = await this.store.write((tx) => this.claimIn(tx, pid));
    if (result === undefined || !('poisoned' in result)) return result;
    this.logger.error(result.poisoned, 'a process was failed as poisoned: its runs were lost with their nodes');
    return undefined;
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

  /** The runnable processes that this node can run. */
  listClaimable(): Promise<Pid[]> {
    return this.store.read((tx) => this.claimable.findRunnable(tx, this.offering.claimable, claimableMax));
  }

  /** The processes that wait for code, of images that this node can run. */
  listParked(): Promise<Pid[]> {
    return this.store.read((tx) => this.claimable.findParked(tx, this.offering.claimable, claimableMax));
  }

  /** Whether nothing runs on this node, nothing is runnable that it can run, and no command waits to be started by it. */
  isIdle(): Promise<boolean> {
    return this.store.read(async (tx) => {
      const { nodeId } = this.node;
      if (await this.processes.isRunningOn(tx, nodeId)) return false;
      if ((await this.claimable.findRunnable(tx, this.offering.claimable, 1)).length > 0) return false;
      const { claimableCommands } = this.offering;
      if (claimableCommands.images.length === 0) return true;
      return (await this.claimable.findUnstarted(tx, claimableCommands, 1)).length === 0;
    });
  }

  private async claimIn(tx: WriteTx, pid: Pid): Promise<ClaimResult | Poisoned> {
    const row = await this.processes.find(tx, pid);
    if (row?.status !== 'runnable' && row?.status !== 'waiting') return undefined;
    const image = this.images.findRunnable(row.image);
    if (image === undefined || !this.offering.canRun(row)) {
      if (row.status === 'runnable') this.unplaced.checkSoon();
      return undefined;
    }
    if (!isClaimable(row, image)) return undefined;
    await this.lease.assertLive(tx);
    const act = this.actAt(this.clock.now());
    if (row.recoveries >= (image.recoveriesMax ?? recoveriesMaxDefault)) return this.failPoisoned(tx, act, row);
    if (row.recoveries >= suspectRecoveries) {
      const suspect = await this.claimable.findSuspect(tx, this.node.nodeId, suspectRecoveries);
      if (suspect !== undefined) return { after: suspect };
    }
    return { start: await this.start(tx, act, row) };
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
    const recorded = entries.length;
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
  private async failPoisoned(tx: WriteTx, act: Act, row: ProcessRow): Promise<Poisoned> {
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
    return { poisoned: { pid, image, recoveries, ...step } };
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

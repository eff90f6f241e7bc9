import { performance } from 'node:perf_hooks';
import { inject, injectable } from 'inversify';
import type { NodeId, Pid } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import { Logger } from '../../base/logger.js';
import { Store } from '../../base/store.js';
import { Accounts } from '../../kernel/budget/accounts.js';
import { CommandRepository, type CommandRow } from '../../kernel/command/command-repository.js';
import { type HostIdentity, NodeRepository } from '../../kernel/node/node-repository.js';
import type { ProcessRow } from '../../kernel/process/process.js';
import { ProcessRepository } from '../../kernel/process/process-repository.js';
import type { CommandRecovery } from '../../runtime/node/recovery.js';
import { addReports, emptyReport, type RecoveryReport } from '../../runtime/node/recovery-report.js';
import { ownerLost } from '../../runtime/node/releases.js';
import { OsGroups } from '../../runtime/os/os-groups.js';
import { OsProcesses } from '../../runtime/os/os-processes.js';
import { OutputCopier } from '../output/output-copier.js';
import { OutputFiles } from '../output/output-files.js';
import { CommandDrivers } from './command-drivers.js';
import { CommandProcesses, type CommandTarget } from './command-processes.js';
import { CommandRecorder } from './command-recorder.js';
import { StopSequence } from './stop-sequence.js';

const graceMs = 1_000;

/** A command whose node is gone. */
interface OrphanedCommand {
  readonly row: ProcessRow;
  readonly command: CommandRow;
  /** The program that was its node, if that is known. */
  readonly host: HostIdentity | undefined;
  readonly hasOutputLimit: boolean;
}

/** The state of a command according to the operating system. `lost`: it has ended; with `isHere` it may have left processes here. */
type OrphanState =
  | { readonly kind: 'alive'; readonly leader: HostIdentity }
  | { readonly kind: 'lost'; readonly reason: string; readonly isHere: boolean }
  | { readonly kind: 'unstarted' }
  | { readonly kind: 'unknown' };

/**
 * Recovers the commands of nodes that are gone: adopts those that run, and of the others stops the remaining processes and
 * ends the rows, with evidence. Signals only processes that have the marks of the command, and those below them.
 */
@injectable()
export class OsCommandRecovery implements CommandRecovery {
  /** Commands whose state could not be found out; each is reported once. */
  private readonly unverified = new Set<Pid>();

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(CommandRepository) private readonly commands: CommandRepository,
    @inject(NodeRepository) private readonly nodes: NodeRepository,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(OsProcesses) private readonly os: OsProcesses,
    @inject(OsGroups) private readonly groups: OsGroups,
    @inject(CommandRecorder) private readonly commandRecorder: CommandRecorder,
    @inject(CommandDrivers) private readonly drivers: CommandDrivers,
    @inject(OutputFiles) private readonly files: OutputFiles,
    @inject(OutputCopier) private readonly copier: OutputCopier,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  async recover(node: NodeId): Promise<RecoveryReport> {
    const orphans = await this.findOrphans(node);
    const reports = await Promise.all(orphans.map((orphan) => this.recoverSafely(node, orphan)));
    return reports.reduce(addReports, emptyReport);
  }

  private findOrphans(node: NodeId): Promise<OrphanedCommand[]> {
    return this.store.read(async (tx) => {
      const host = (await this.nodes.find(tx, node))?.host;
      const orphans: OrphanedCommand[] = [];
      const held = (await this.processes.findByNode(tx, node)).filter(({ kind }) => kind === 'command');
      const commands = await this.commands.findAll(
        tx,
        held.map(({ n }) => n),
      );
      const byProcess = new Map(commands.map((command) => [command.process, command]));
      for (const row of held) {
        const command = byProcess.get(row.n);
        if (command === undefined || !this.drivers.isOpen || this.drivers.has(row.pid)) continue;
        const hasOutputLimit = (await this.accounts.report(tx, row, row.updatedAt)).outputBytes.left !== null;
        orphans.push({ row, command, host, hasOutputLimit });
      }
      return orphans;
    });
  }

  private async recoverSafely(node: NodeId, orphan: OrphanedCommand): Promise<RecoveryReport> {
    try {
      return await this.recoverOne(node, orphan);
    } catch (error) {
      this.logger.error(
        { pid: orphan.row.pid, error: String(error) },
        'a command of a node that is gone could not be recovered',
      );
      return emptyReport;
    }
  }

  private async recoverOne(node: NodeId, orphan: OrphanedCommand): Promise<RecoveryReport> {
    const state = await this.inspect(orphan);
    if (state.kind === 'unknown') return this.reportUnverified(orphan.row.pid);
    // Of two nodes that recover it, only one can adopt it and go on.
    const row = await this.commandRecorder.adopt(orphan.row, node);
    if (row === undefined) return emptyReport;
    const { command, hasOutputLimit } = orphan;
    if (command.adopted !== null) return this.recoverAdopted(node, row, command, state);
    const { token, survive } = command;
    if (state.kind === 'alive') {
      this.drivers.adopt({ row, token, survive, hasOutputLimit, isAwaited: false }, state.leader, row);
      return { ...emptyReport, adopted: 1 };
    }
    const target = { leader: command.leader ?? undefined, marks: this.files.marksOf(row.n, token), isOwn: false };
    const survivors = state.kind === 'unstarted' || state.isHere ? await this.stopSurvivors(target) : 0;
    if (state.kind === 'lost' && state.isHere) await this.copier.waitForOther(row.n);
    const isStopped = row.status === 'stopping';
    if (state.kind === 'unstarted') {
      await this.commandRecorder.recordNotStarted(row, { kind: 'not_started', node, survivors });
      return { ...emptyReport, stopped: 1 };
    }
    await this.recordAbandoned(row, command, state.reason, { node, survivors });
    return isStopped ? { ...emptyReport, stopped: 1 } : { ...emptyReport, abandoned: { [state.reason]: 1 } };
  }

  /** A program that somebody else has started is watched on, or its end is recorded; nothing is signalled. */
  private async recoverAdopted(
    node: NodeId,
    row: ProcessRow,
    { leader, adopted }: CommandRow,
    state: OrphanState,
  ): Promise<RecoveryReport> {
    if (state.kind === 'alive') {
      const driver = this.drivers.registerAdopted(row.pid, { leader: state.leader, group: adopted?.group ?? null });
      this.drivers.beginAdopted(driver, row);
      return { ...emptyReport, adopted: 1 };
    }
    const reason = state.kind === 'lost' ? state.reason : ownerLost;
    await this.commandRecorder.recordAdoptedGone(row, reason, { node, pid: leader?.pid ?? null });
    return row.status === 'stopping' ? { ...emptyReport, stopped: 1 } : { ...emptyReport, abandoned: { [reason]: 1 } };
  }

  /** Compares the recorded machine, boot and start time with those of now; the first case that matches decides. */
  private async inspect({ row, command: { leader, token, adopted }, host }: OrphanedCommand): Promise<OrphanState> {
    const self = this.os.self();
    const recorded = leader ?? host;
    if (recorded === undefined || recorded.machine !== self.machine)
      return { kind: 'lost', reason: ownerLost, isHere: false };
    if (recorded.boot !== self.boot) {
      if (recorded.boot === '' || self.boot === '') return { kind: 'unknown' };
      return leader === null && row.startedAt === null
        ? { kind: 'unstarted' }
        : { kind: 'lost', reason: 'host_rebooted', isHere: false };
    }
    if (leader === null) return { kind: 'unstarted' };
    const isAlive = this.os.isAlive(leader);
    if (isAlive === undefined) return { kind: 'unknown' };
    if (!isAlive) {
      const current = this.groups.identify(leader.pid);
      const isReused = current !== undefined && leader.startTicks !== '' && current.startTicks !== leader.startTicks;
      return { kind: 'lost', reason: isReused ? 'pid_reused' : 'pid_gone', isHere: true };
    }
    // An adopted program has no marks: its start proves who it is.
    if (adopted !== null) return { kind: 'alive', leader };
    const carriesMarks = await this.groups.carries(leader.pid, this.files.marksOf(row.n, token));
    if (carriesMarks === undefined) return { kind: 'unknown' };
    return carriesMarks ? { kind: 'alive', leader } : { kind: 'lost', reason: 'pid_reused', isHere: true };
  }

  /** Gives how many there were. */
  private async stopSurvivors(target: CommandTarget): Promise<number> {
    const processes = new CommandProcesses(this.groups, target);
    const { group, others } = await processes.find();
    const survivors = group.length + others.length;
    if (survivors === 0) return 0;
    const stopSequence = new StopSequence(processes, () => performance.now());
    if (!(await stopSequence.stop(performance.now() + graceMs))) {
      this.logger.error({ survivors }, 'processes of a command could not be stopped');
    }
    return survivors;
  }

  private async recordAbandoned(
    row: ProcessRow,
    command: CommandRow,
    reason: string,
    facts: JsonObject,
  ): Promise<void> {
    const evidence = { kind: reason, ...facts, ...(command.leader === null ? {} : { pid: command.leader.pid }) };
    await this.commandRecorder.recordEnd(row, {
      event: 'abandon',
      outcome: { kind: 'abandoned', reason, evidence },
      outputBytes: this.files.bytesWritten(row.n),
      result: { pid: row.pid, exitCode: null, signal: null, ...this.files.toResultFields(row.n) },
    });
  }

  private reportUnverified(pid: Pid): RecoveryReport {
    const isNew = !this.unverified.has(pid);
    this.unverified.add(pid);
    return isNew ? { ...emptyReport, unverified: 1 } : emptyReport;
  }
}

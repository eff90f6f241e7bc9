import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { Clock, type KernelClock } from '../../base/clock.js';
import { ProcessError, StoreError } from '../../base/errors.js';
import type { ObjectId } from '../../base/ids.js';
import { amount } from '../../base/spec.js';
import { Store } from '../../base/store.js';
import { OrphanedObjects } from '../../memory/object/orphaned-objects.js';
import type { Caller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { UnitPace } from '../../unit/unit-pace.js';
import { Units } from '../../unit/units.js';
import { Accounts } from '../budget/accounts.js';
import { OutputPaths } from '../command/command-ports.js';
import { PrunedLeftovers } from '../lifecycle/pruned-leftovers.js';
import { NodeRepository } from '../node/node-repository.js';
import type { ProcessRow } from '../process/process.js';
import { ProcessRepository } from '../process/process-repository.js';
import { PruneRepository } from '../process/prune-repository.js';
import { parse } from '../specs.js';

const pruneOptions = z.strictObject({ endedBefore: amount, compact: z.boolean().default(false) });

/** The rows that are looked at together, outside of a write unit. */
const pageRows = 2_000;
/** The most processes, and rows that belong to one of them, that one unit removes: other callers wait for it. */
const unitProcesses = 25;
const unitRows = 400;
/** The most free pages that are given back together. */
const unitPages = 128;

@injectable()
export class Prune {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(Units) private readonly units: Units,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(PruneRepository) private readonly repository: PruneRepository,
    @inject(NodeRepository) private readonly nodes: NodeRepository,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(OutputPaths) private readonly outputPaths: OutputPaths,
    @inject(OrphanedObjects) private readonly objects: OrphanedObjects,
    @inject(PrunedLeftovers) private readonly leftovers: PrunedLeftovers,
  ) {}

  /**
   * Removes processes that ended before a time and under which no process is left, with everything that hangs on them; events
   * and the audit log are kept. Children of a running body stay until it ends. Works in units, each a bounded part, and gives
   * the free pages of the file back. For `compact` throws
   * CONFLICT while a node lives, STORE_UNSUPPORTED for a database on a server.
   */
  async run(caller: Caller, options: unknown): Promise<{ pruned: number }> {
    const { endedBefore, compact } = parse(pruneOptions, options, 'options');
    if (compact) await this.assertCompactable();
    const goals = new Set<ObjectId>();
    const pace = new UnitPace();
    let pruned = 0;
    // Children have higher numbers than the process that they were spawned under, and go first.
    for (let before: number | undefined = Number.MAX_SAFE_INTEGER; before !== undefined; ) {
      const from: number = before;
      const page = await this.store.read((tx) => this.processes.pageEnds(tx, from, pageRows));
      const ended = page.filter(({ exitedAt }) => exitedAt !== null && exitedAt < endedBefore).map(({ n }) => n);
      pruned += await this.prunePage(caller, pace, endedBefore, ended, goals);
      before = page.at(-1)?.n;
    }
    await this.leftovers.removeRows();
    await this.leftovers.removeInherited(await this.objects.remove(goals));
    await this.leftovers.removeEnvironments();
    await this.leftovers.removeNodes();
    if (compact) await this.store.compact?.();
    else await this.releasePages();
    return { pruned };
  }

  private async releasePages(): Promise<void> {
    const pace = new UnitPace();
    for (let left = 1; left > 0; ) {
      left = await pace.measure(async (begin) => (await this.store.releasePages?.(pace.partOf(unitPages), begin)) ?? 0);
    }
  }

  /** Compacting rewrites the file while nobody else can use it; a database on a server has none. */
  private async assertCompactable(): Promise<void> {
    if (this.store.compact === undefined) {
      throw new StoreError('STORE_UNSUPPORTED', 'A database on a server is not compacted by the kernel.', {
        facts: { problem: 'it has no file of its own' },
        hint: 'Leave it out: autovacuum makes the room usable again. VACUUM (FULL) on the server gives it back.',
      });
    }
    const now = this.clock.peek();
    const live = await this.store.read((tx) => this.nodes.findLive(tx));
    const nodes = live.filter(({ expiresAt }) => expiresAt > now).map(({ id }) => id);
    if (nodes.length === 0) return;
    throw new ProcessError('CONFLICT', `The database cannot be compacted while ${nodes.length} nodes use it.`, {
      facts: { nodes },
      hint: 'Shut them down first; a node that was killed is taken for live until its lease is over.',
    });
  }

  private async prunePage(
    caller: Caller,
    pace: UnitPace,
    endedBefore: number,
    numbers: readonly number[],
    goals: Set<ObjectId>,
  ): Promise<number> {
    let pruned = 0;
    for (let rest = numbers; rest.length > 0; ) {
      const part = await this.pruneUnit(caller, pace, endedBefore, rest);
      this.outputPaths.remove(part.rows.filter(({ kind }) => kind === 'command').map(({ n }) => n));
      for (const { goal } of part.rows) goals.add(goal);
      pruned += part.rows.length;
      rest = rest.slice(part.looked);
    }
    return pruned;
  }

  /** Removes those of the rows that can be. Of processes with much that hangs on them, one unit removes only a part. */
  private pruneUnit(
    caller: Caller,
    pace: UnitPace,
    endedBefore: number,
    rest: readonly number[],
  ): Promise<{ readonly rows: readonly ProcessRow[]; readonly looked: number }> {
    const call = { caller, actor: 'host', action: 'process.prune' } as const;
    const unit = (begin: () => void) =>
      this.units.commit(call, async (tx, act) => {
        begin();
        const numbers = rest.slice(0, pace.partOf(unitProcesses));
        const ended = await this.processes.findPrunable(tx, numbers, endedBefore);
        const rows = await this.accounts.filterPrunable(tx, ended);
        if (!(await this.repository.clear(tx, rows, pace.partOf(unitRows)))) return { rows: [], looked: 0 };
        await this.accounts.loadPaths(tx, rows);
        for (const row of rows) await this.accounts.close(tx, row);
        await this.processes.delete(tx, rows);
        const count = rows.length;
        if (count > 0) {
          this.recorder.recordEvent(tx, { type: 'processes.pruned', at: act.at, data: { count } });
          const pids = rows.map(({ pid }) => pid);
          this.recorder.recordAudit(tx, {
            ...act,
            action: 'process.prune',
            outcome: 'ok',
            facts: { endedBefore, pids },
          });
        }
        return { rows, looked: numbers.length };
      });
    return pace.measure(unit);
  }
}

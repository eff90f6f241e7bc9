import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { amount } from '../../base/spec.js';
import { Turns } from '../../base/turns.js';
import type { Caller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import { Accounts } from '../budget/accounts.js';
import { OutputPaths } from '../command/command-ports.js';
import { CommandRepository } from '../command/command-repository.js';
import { UnusedEnvironments } from '../lifecycle/unused-environments.js';
import { ProcessRepository } from '../process/process-repository.js';
import { parse } from '../specs.js';

const pruneOptions = z.strictObject({ endedBefore: amount });
const batchRows = 500;

@injectable()
export class Prune {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(CommandRepository) private readonly commands: CommandRepository,
    @inject(OutputPaths) private readonly outputPaths: OutputPaths,
    @inject(UnusedEnvironments) private readonly environments: UnusedEnvironments,
  ) {}

  /**
   * Removes the rows of processes that ended before a time and under which no process is left; the audit log keeps their
   * history. Children of a running body stay until it ends. Works in batches, each one a unit, until none is found.
   */
  async run(caller: Caller, options: unknown): Promise<{ pruned: number }> {
    const { endedBefore } = parse(pruneOptions, options, 'options');
    const environments = new Set<string>();
    let pruned = 0;
    for (let prunedBefore = -1; prunedBefore !== pruned; ) {
      prunedBefore = pruned;
      for (let after = 0, hasMore = true; hasMore; ) {
        const batch = await this.pruneBatch(caller, endedBefore, after);
        this.outputPaths.remove(batch.commands);
        for (const hash of batch.environments) environments.add(hash);
        pruned += batch.count;
        after = batch.last;
        hasMore = batch.count > 0;
      }
    }
    await this.environments.remove(environments);
    return { pruned };
  }

  private pruneBatch(caller: Caller, endedBefore: number, after: number): Promise<Batch> {
    return this.units.commit({ caller, actor: 'host', action: 'process.prune' }, async (tx, act) => {
      const rows = await this.processes.findPrunable(tx, endedBefore, after, batchRows);
      const turns = new Turns();
      for (const row of rows) {
        await turns.next();
        await this.accounts.close(tx, row);
        await this.processes.delete(tx, row);
        if (row.kind === 'command') await this.commands.remove(tx, row.n);
      }
      const count = rows.length;
      if (count > 0) {
        this.recorder.recordEvent(tx, { type: 'processes.pruned', at: act.at, data: { count } });
        const pids = rows.map(({ pid }) => pid);
        this.recorder.recordAudit(tx, { ...act, action: 'process.prune', outcome: 'ok', facts: { endedBefore, pids } });
      }
      const commands = rows.filter(({ kind }) => kind === 'command').map(({ n }) => n);
      const environments = rows.flatMap(({ env }) => env ?? []);
      return { count, last: rows.at(-1)?.n ?? after, commands, environments };
    });
  }
}

interface Batch {
  readonly count: number;
  readonly last: number;
  /** Row numbers of commands, whose output files are to be removed. */
  readonly commands: readonly number[];
  /** The hashes of the environments that the processes were spawned with. */
  readonly environments: readonly string[];
}

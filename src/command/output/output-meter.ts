import { inject, injectable } from 'inversify';
import { BudgetError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import { Store } from '../../base/store.js';
import { Accounts } from '../../kernel/budget/accounts.js';
import { CommandRepository } from '../../kernel/command/command-repository.js';
import { isTerminal } from '../../kernel/process/process.js';
import { ProcessLookup } from '../../kernel/process/process-lookup.js';
import { ProcessRepository } from '../../kernel/process/process-repository.js';
import { type Call, hostCaller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';

/** Charges the output of commands while they run, if the process or one above it has a limit. */
@injectable()
export class OutputMeter {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Units) private readonly units: Units,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(CommandRepository) private readonly commands: CommandRepository,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /** False also for a command that has ended. */
  hasLimit(pid: Pid): Promise<boolean> {
    return this.store.read(async (tx) => {
      const row = await this.processes.find(tx, pid);
      if (row === undefined || isTerminal(row.status)) return false;
      return (await this.accounts.report(tx, row, row.updatedAt)).outputBytes.left !== null;
    });
  }

  /** Charges the growth up to `size`. False when that would exceed a budget. */
  async charge(pid: Pid, size: number): Promise<boolean> {
    const call: Call = { caller: hostCaller, actor: pid, action: 'budget.charge', target: pid, kind: 'record' };
    try {
      await this.units.commit(call, async (tx, act) => {
        const row = await this.lookup.getLive(tx, pid);
        const command = await this.commands.find(tx, row.n);
        if (command === undefined || size <= command.outputBytes) return;
        const usage = { outputBytes: size - command.outputBytes };
        await this.accounts.charge(tx, row, usage);
        await this.commands.update(tx, { ...command, outputBytes: size });
        const facts = { usage };
        this.recorder.record(tx, act, row, { event: 'budget.charged', data: facts, action: 'budget.charge', facts });
      });
      return true;
    } catch (error) {
      if (error instanceof BudgetError) return false;
      throw error;
    }
  }
}

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

/** What commands may write. */
export interface OutputCaps {
  /** By account with a limit: what the commands may have written together when nothing is left of it. */
  readonly caps: ReadonlyMap<number, number>;
  /** The accounts with a limit that each command is charged to; those that have ended are missing. */
  readonly accountsOf: ReadonlyMap<Pid, readonly number[]>;
}

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

  /** Nothing of what other commands write is in it. */
  caps(pids: readonly Pid[]): Promise<OutputCaps> {
    return this.store.read(async (tx) => {
      const caps = new Map<number, number>();
      const accountsOf = new Map<Pid, number[]>();
      for (const pid of pids) {
        const row = await this.processes.find(tx, pid);
        const command = row === undefined || isTerminal(row.status) ? undefined : await this.commands.find(tx, row.n);
        if (row === undefined || command === undefined) continue;
        const accounts = await this.accounts.limited(tx, row, 'outputBytes');
        accountsOf.set(pid, [...accounts.keys()]);
        for (const [account, left] of accounts) caps.set(account, (caps.get(account) ?? left) + command.outputBytes);
      }
      return { caps, accountsOf };
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

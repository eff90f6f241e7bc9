import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import type { TokenCharges } from '../../memory/token-charges.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { Accounts } from './accounts.js';

/** What memory costs, charged to the accounts of the process table. */
@injectable()
export class AccountCharges implements TokenCharges {
  constructor(
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  async charge(tx: WriteTx, pid: Pid, at: number, materializedTokens: number): Promise<void> {
    const row = await this.lookup.live(tx, pid);
    const usage = { materializedTokens };
    await this.accounts.charge(tx, row, usage);
    this.recorder.event(tx, { type: 'budget.charged', at, pid, root: row.root, data: { usage } });
  }
}

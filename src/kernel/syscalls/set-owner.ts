import { inject, injectable } from 'inversify';
import type { Caller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import type { OwnerKeys } from '../process/process.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { ProcessRepository, saveOwner } from '../process/process-repository.js';
import { ownerKeys, parse, parsePid } from '../specs.js';

/** Replaces the owner keys of a process, by which lists and signals select it. */
@injectable()
export class SetOwner {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /** Throws INVALID_INPUT, NO_SUCH_PROCESS, PROCESS_TERMINATED. */
  async run(caller: Caller, input: unknown, rawOwner: unknown): Promise<void> {
    const pid = parsePid(input);
    const owner = parse(ownerKeys, rawOwner, 'owner') as OwnerKeys;
    const keys = Object.keys(owner);
    await this.units.commit({ caller, actor: 'host', action: 'process.setOwner', target: pid }, async (tx, act) => {
      const row = await this.lookup.getLive(tx, pid);
      const next = {
        ...row,
        owner: keys.length === 0 ? null : owner,
        version: row.version + 1,
        updatedAt: act.at,
      };
      await saveOwner(this.processes, tx, next, row.owner);
      this.recorder.record(tx, act, next, {
        event: 'process.owned',
        data: { keys },
        action: 'process.setOwner',
        before: row.status,
        after: next.status,
        facts: { keys },
        payload: { owner: { ...owner }, before: { ...row.owner } },
      });
    });
  }
}

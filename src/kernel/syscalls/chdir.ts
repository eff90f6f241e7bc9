import { inject, injectable } from 'inversify';
import { Store } from '../../base/store.js';
import type { Caller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { OutdatedPreparation, Units } from '../../unit/units.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { ProcessRepository, saveProcess } from '../process/process-repository.js';
import { parsePath, parsePid } from '../specs.js';
import { FolderAccess } from '../workspace/folder-access.js';

@injectable()
export class Chdir {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Units) private readonly units: Units,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(FolderAccess) private readonly folderAccess: FolderAccess,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /** Changes the working directory, relative to the current one; answers with the new one. Throws INVALID_PATH, CAPABILITY_DENIED. */
  run(caller: Caller, input: unknown, rawPath: unknown): Promise<string> {
    const pid = parsePid(input);
    const path = parsePath(rawPath);
    return this.units.commitPrepared(
      { caller, actor: 'host', action: 'process.chdir', target: pid, actsFor: pid },
      async () => {
        const { cwd: from } = await this.store.read((tx) => this.lookup.getLive(tx, pid));
        const { cwd: to, folderQuestion } = await this.folderAccess.check(caller, 'process.chdir', from, path);
        return { from, to, folderQuestion };
      },
      async (tx, act, { from, to, folderQuestion }) => {
        const row = await this.lookup.getLive(tx, pid);
        if (row.cwd !== from) throw new OutdatedPreparation(pid);
        const authorization =
          folderQuestion === undefined ? undefined : await this.folderAccess.authorize(tx, act, folderQuestion);
        const next = { ...row, cwd: to, version: row.version + 1, updatedAt: act.at };
        await saveProcess(this.processes, tx, next);
        this.recorder.record(tx, act, next, {
          event: 'process.moved',
          data: { cwd: to },
          action: 'process.chdir',
          capability: authorization?.capability,
          approval: authorization?.approval,
          payload: { from, to },
          lineage: true,
        });
        return to;
      },
    );
  }
}

import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import { type ReadTx, Store } from '../../base/store.js';
import { SpawnExtrasRepository } from '../lifecycle/spawn-extras-repository.js';
import { ProcessRepository } from '../process/process-repository.js';
import type { Environment } from './command.js';

/** Reads the variables that processes were spawned with. They never change, so they may be read before the unit. */
@injectable()
export class InheritedEnvironments {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(SpawnExtrasRepository) private readonly extras: SpawnExtrasRepository,
  ) {}

  /** Of the process; empty where there is none. */
  ofProcess(pid: Pid): Promise<Environment> {
    return this.store.read(async (tx) => this.find(tx, (await this.processes.find(tx, pid))?.env));
  }

  /** Those of the process over those of the one that it was spawned under: what the command of its image begins with. */
  ofImage(pid: Pid): Promise<Environment> {
    return this.store.read(async (tx) => {
      const row = await this.processes.find(tx, pid);
      const parent = typeof row?.bornUnder === 'string' ? await this.processes.find(tx, row.bornUnder) : undefined;
      return { ...(await this.find(tx, parent?.env)), ...(await this.find(tx, row?.env)) };
    });
  }

  private async find(tx: ReadTx, hash: string | null | undefined): Promise<Environment> {
    return typeof hash === 'string' ? ((await this.extras.findEnvironment(tx, hash)) ?? {}) : {};
  }
}

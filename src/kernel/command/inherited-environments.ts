import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import { type ReadTx, Store } from '../../base/store.js';
import { SpawnExtrasRepository } from '../lifecycle/spawn-extras-repository.js';
import { ProcessRepository } from '../process/process-repository.js';
import type { Environment } from './command.js';
import type { CommandSurroundings } from './command-ports.js';

/**
 * Reads what commands take over from processes: the variables that these were spawned with, which never change, and their
 * working directory, which a unit compares again.
 */
@injectable()
export class InheritedEnvironments {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(SpawnExtrasRepository) private readonly extras: SpawnExtrasRepository,
  ) {}

  /** The variables and the working directory that a child of the process inherits; none of a process that does not exist. */
  ofProcess(pid: Pid): Promise<CommandSurroundings> {
    return this.store.read(async (tx) => {
      const row = await this.processes.find(tx, pid);
      return { inherited: await this.find(tx, row?.env), cwd: row?.cwd ?? '.' };
    });
  }

  /** For a process that is the command of an image: its variables over those of the process that it was spawned under. */
  ofImage(pid: Pid): Promise<CommandSurroundings> {
    return this.store.read(async (tx) => {
      const row = await this.processes.find(tx, pid);
      const parent = typeof row?.bornUnder === 'string' ? await this.processes.find(tx, row.bornUnder) : undefined;
      const inherited = { ...(await this.find(tx, parent?.env)), ...(await this.find(tx, row?.env)) };
      return { inherited, cwd: row?.cwd ?? '.' };
    });
  }

  /** The names of the variables of an environment, sorted. */
  async namesOf(tx: ReadTx, hash: string): Promise<string[]> {
    return Object.keys(await this.find(tx, hash)).sort();
  }

  private async find(tx: ReadTx, hash: string | null | undefined): Promise<Environment> {
    return typeof hash === 'string' ? ((await this.extras.findEnvironment(tx, hash)) ?? {}) : {};
  }
}

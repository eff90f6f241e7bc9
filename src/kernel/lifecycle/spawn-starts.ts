import { injectable } from 'inversify';
import type { NodeId, Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { Act } from '../../unit/act.js';
import type { ProcessRow } from '../process/process.js';

/** The start of a process in the commit that creates it, as the record of its spawn tells it. */
export interface StartFacts {
  readonly node: NodeId;
  readonly attempt: number;
  readonly fence: number;
}

/** The part of the node that runs bodies, as far as spawns need it. */
export interface ProcessStarter {
  /** Sets a slot aside for a new process, if this node can run it at once and nothing older waits. */
  admit(tx: ReadTx, row: ProcessRow): Promise<StartFacts | undefined>;
  /** Starts a process that was admitted, in the unit that creates it. Its body begins after the commit. */
  start(tx: WriteTx, act: Act, row: ProcessRow): Promise<void>;
  /** Gives back the slot of a process whose spawn was not committed. */
  abandon(pid: Pid): void;
}

/** Lets the node that spawns a process start it in the same commit. */
@injectable()
export class SpawnStarts {
  private starter: ProcessStarter | undefined;

  /** Uses `starter` until disposed. */
  use(starter: ProcessStarter): Disposable {
    this.starter = starter;
    return {
      [Symbol.dispose]: () => {
        this.starter = undefined;
      },
    };
  }

  /** The start of the process that one call spawns. Dispose it after the call: a spawn that was not committed is given up. */
  attempt(): SpawnStart {
    return new SpawnStart(this.starter);
  }
}

export class SpawnStart implements Disposable {
  private admitted: Pid | undefined;

  constructor(private readonly starter: ProcessStarter | undefined) {}

  /** To be called in the unit, when nothing can refuse the spawn any more. */
  async admit(tx: ReadTx, row: ProcessRow): Promise<StartFacts | undefined> {
    this[Symbol.dispose]();
    const facts = await this.starter?.admit(tx, row);
    if (facts !== undefined) this.admitted = row.pid;
    return facts;
  }

  async start(tx: WriteTx, act: Act, row: ProcessRow): Promise<void> {
    if (this.admitted === row.pid) await this.starter?.start(tx, act, row);
  }

  /** To be called after the commit. */
  keep(): void {
    this.admitted = undefined;
  }

  [Symbol.dispose](): void {
    if (this.admitted !== undefined) this.starter?.abandon(this.admitted);
    this.admitted = undefined;
  }
}

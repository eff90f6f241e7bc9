import type { NodeId, Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { ProcessStarter, StartFacts } from '../../kernel/lifecycle/spawn-starts.js';
import type { ProcessRow } from '../../kernel/process/process.js';
import type { Act } from '../../unit/act.js';
import type { RunStart } from '../run/run.js';
import type { Claims } from './claims.js';
import type { Slots } from './slots.js';

export interface StartsWithSpawnOptions {
  readonly nodeId: NodeId;
  readonly claims: Claims;
  readonly slots: Slots;
  /** Whether the node takes new processes, and nothing older waits for it. */
  mayStart(): boolean;
  /** Called when the slot of a process was given back. `isStarted`: the unit that was not acknowledged had started it. */
  onAbandon(pid: Pid, isStarted: boolean): void;
}

/** Starts processes in the units that create them, in slots that are set aside; their bodies begin after the commit. */
export class StartsWithSpawn implements ProcessStarter {
  /** By process, until the commit of its spawn; undefined until it is started in the unit. */
  private readonly starts = new Map<Pid, RunStart | undefined>();

  constructor(private readonly options: StartsWithSpawnOptions) {}

  async admit(tx: ReadTx, row: ProcessRow): Promise<StartFacts | undefined> {
    const { nodeId, claims, slots, mayStart } = this.options;
    if (!mayStart() || !(await claims.canStart(tx, row)) || !slots.tryAcquire()) return undefined;
    this.starts.set(row.pid, undefined);
    const { attempt, fence } = row;
    return { node: nodeId, attempt, fence };
  }

  async start(tx: WriteTx, act: Act, row: ProcessRow): Promise<void> {
    this.starts.set(row.pid, await this.options.claims.startNew(tx, act, row));
  }

  abandon(pid: Pid): void {
    const isStarted = this.starts.get(pid) !== undefined;
    if (!this.starts.delete(pid)) return;
    this.options.slots.release();
    this.options.onAbandon(pid, isStarted);
  }

  /** Whether the process is started with its spawn: it needs not be claimed. */
  has(pid: Pid): boolean {
    return this.starts.has(pid);
  }

  /** The start of a process that was started with its spawn, after the commit; its slot is the caller's from then on. */
  take(pid: Pid): RunStart | undefined {
    const start = this.starts.get(pid);
    if (start !== undefined) this.starts.delete(pid);
    return start;
  }
}

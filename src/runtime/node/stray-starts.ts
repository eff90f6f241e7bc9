import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { Pid } from '../../base/ids.js';
import { Logger } from '../../base/logger.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { Store } from '../../base/store.js';
import { isTerminal } from '../../kernel/process/process.js';
import { ProcessRepository } from '../../kernel/process/process-repository.js';
import type { Act } from '../../unit/act.js';
import { Releases } from './releases.js';

const checkMs = 1_000;

/**
 * Starts of processes whose commits were refused although they may have been carried out: when the store can tell, and such a
 * process is this node's and has no run, it is released, to be claimed again.
 */
@injectable()
export class StrayStarts {
  private readonly pids = new Set<Pid>();
  private timer: NodeJS.Timeout | undefined;
  private checking: Promise<void> | undefined;
  private hasRun: (pid: Pid) => boolean = () => false;
  private isOpen = false;

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(Releases) private readonly releases: Releases,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  /** `hasRun`: whether this node runs the process. */
  open(hasRun: (pid: Pid) => boolean): void {
    this.hasRun = hasRun;
    this.isOpen = true;
  }

  /** To be called with the processes of a start that was refused. */
  add(pids: Iterable<Pid>): void {
    for (const pid of pids) this.pids.add(pid);
    this.schedule();
  }

  async close(): Promise<void> {
    this.isOpen = false;
    clearTimeout(this.timer);
    await this.checking;
  }

  private schedule(): void {
    if (!this.isOpen || this.pids.size === 0 || this.timer !== undefined) return;
    this.timer = setTimeout(() => {
      this.checking = this.check().finally(() => {
        this.timer = undefined;
        this.schedule();
      });
    }, checkMs).unref();
  }

  /** A write unit: before it, the store finds out what became of a commit without an answer. */
  private async check(): Promise<void> {
    const pids = [...this.pids];
    try {
      const released = await this.store.write(async (tx) => {
        const held = (await this.processes.findAll(tx, pids)).filter(({ node }) => node === this.node.nodeId);
        const strays = held.filter((row) => !isTerminal(row.status) && !this.hasRun(row.pid));
        const act: Act = { actor: 'kernel', via: `host:${this.node.operator}`, at: this.clock.now() };
        for (const row of strays) await this.releases.release(tx, act, row, 'store');
        return strays.map(({ pid }) => pid);
      });
      for (const pid of pids) this.pids.delete(pid);
      if (released.length > 0)
        this.logger.warn({ pids: released }, 'processes were started by a commit that was unknown');
    } catch (error) {
      this.logger.error({ error: String(error) }, 'processes whose start is unknown could not be looked at');
    }
  }
}

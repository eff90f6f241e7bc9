import { isOutcomeUnknown, KernelError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { Logger } from '../../base/logger.js';
import type { RunStart } from '../run/run.js';
import type { Claimed, Claims } from './claims.js';
import { SlotBatch, type Slots } from './slots.js';

/** With more announced processes than this, one of them is as good as all. */
const announcedMax = 1_000;

/** The part of the executor that a loop of claims needs. */
export interface ClaimHost {
  readonly claims: Claims;
  readonly slots: Slots;
  readonly logger: Logger;
  /** Begins the body of a process that was claimed and has a slot. */
  start(start: RunStart): void;
  /** Called when an announced process was not there to be claimed. */
  onNothing(): void;
  /** Called when the loop has come to an end. */
  onChange(): void;
}

/**
 * Claims what this node can run, while slots are free: by number, oldest first, one unit after another. Events only say that
 * there may be something. This node's own are taken at their word; after those of other nodes, which go to all nodes, it is
 * looked first whether something is left.
 */
export class ClaimLoop {
  /** Whether something is known to be runnable. */
  private isCertain = false;
  /** Processes that other nodes have announced and that nobody is known to have started. */
  private readonly announced = new Set<Pid>();
  /** Processes that wait for code and that this node may have other code for. */
  private readonly parked = new Set<Pid>();
  /** Processes whose claim has failed, until the next renewal of the lease. */
  private readonly failed = new Set<Pid>();
  /** The process before whose progress or end those that have lost starts, as it has, are not claimed. */
  private suspect: Pid | undefined;
  /** Processes that got on, or ended, while a claim was under way. */
  private readonly changedMeanwhile = new Set<Pid>();
  private isRunning = false;
  private isOpen = true;

  constructor(private readonly host: ClaimHost) {}

  /** Whether there may be something that has a slot and was not claimed yet. */
  get isBusy(): boolean {
    return this.isRunning || (this.hasWork && this.host.slots.free > 0);
  }

  /** Whether older processes may wait, so that a new one is not started before them. */
  get hasWork(): boolean {
    return this.isOpen && (this.isCertain || this.announced.size > 0 || this.parked.size > 0);
  }

  /** To be called when a process may have become runnable. `isOwn`: in a commit of this node. */
  announce(pid: Pid, isOwn: boolean): void {
    if (isOwn) this.isCertain = true;
    else if (this.announced.size < announcedMax) this.announced.add(pid);
    this.wake();
  }

  /** To be called when a node has started a process. */
  forget(pid: Pid): void {
    this.announced.delete(pid);
  }

  /** To be called when a process waits for code. */
  announceParked(pids: Iterable<Pid>): void {
    for (const pid of pids) this.parked.add(pid);
    this.wake();
  }

  /** Looks for what no event has announced. Throws where the store cannot be read. */
  async scan(): Promise<void> {
    this.failed.clear();
    if (!(await this.host.claims.hasRunnable(this.failed, this.suspect === undefined))) return;
    this.isCertain = true;
    this.wake();
  }

  /** To be called when a process of this node got on, or ended. */
  onProgress(pid: Pid): void {
    if (this.isRunning) this.changedMeanwhile.add(pid);
    if (this.suspect !== pid) return;
    this.suspect = undefined;
    this.isCertain = true;
    this.wake();
  }

  /** Claims if there is something to claim and a slot for it. */
  wake(): void {
    if (this.isRunning || !this.isBusy) return;
    this.isRunning = true;
    void this.run();
  }

  close(): void {
    this.isOpen = false;
  }

  private async run(): Promise<void> {
    try {
      while (this.hasWork && this.host.slots.free > 0) await this.claim();
    } catch (error) {
      // What is left is tried again with the next renewal of the lease.
      this.host.logger.error({ error: String(error) }, 'processes could not be claimed');
    }
    this.isRunning = false;
    this.changedMeanwhile.clear();
    this.host.onChange();
  }

  private async claim(): Promise<void> {
    if (this.parked.size > 0) return this.claimParked();
    const { isCertain } = this;
    this.isCertain = false;
    if (!isCertain) {
      // The events of one commit come together: what was spawned and started is forgotten by now.
      await Promise.resolve();
      if (this.announced.size === 0) return;
      this.announced.clear();
      if (!(await this.host.claims.hasRunnable(this.failed, this.suspect === undefined))) return this.host.onNothing();
    }
    const claimed = await this.commit((slots) => this.host.claims.claimOldest(slots, this.failed));
    if (claimed === undefined) return this.claimOneByOne();
    if (claimed.hasMore && claimed.starts.length > 0) this.isCertain = true;
    if (claimed.starts.length === 0) this.host.onNothing();
  }

  private async claimParked(): Promise<void> {
    const pids = [...this.parked].slice(0, this.host.slots.free);
    for (const pid of pids) this.parked.delete(pid);
    const listed = await this.host.claims.listParked(pids);
    if (listed.length > 0) await this.claimEach([listed]);
  }

  /** After a unit that failed: one process that cannot be claimed keeps no others from being claimed. */
  private async claimOneByOne(): Promise<void> {
    const pids = await this.host.claims.listOldest(this.failed);
    await this.claimEach(pids.map((pid) => [pid]));
    this.isCertain = true;
  }

  private async claimEach(parts: readonly (readonly Pid[])[]): Promise<void> {
    for (const pids of parts) {
      const claimed = await this.commit((slots) => this.host.claims.claimThese(slots, pids));
      if (claimed !== undefined) continue;
      for (const pid of pids) this.failed.add(pid);
      this.host.logger.error({ pids: [...pids] }, 'processes could not be claimed; they are tried again later');
    }
  }

  /** One unit of claims; undefined when it has failed because of one of the processes. */
  private async commit(unit: (slots: SlotBatch) => Promise<Claimed>): Promise<Claimed | undefined> {
    const slots = new SlotBatch(this.host.slots);
    try {
      const claimed = await unit(slots);
      this.expectProgress(claimed.suspect);
      for (const start of claimed.starts) this.host.start(start);
      return claimed;
    } catch (error) {
      slots.giveBack();
      if (isOfNode(error)) throw error;
      this.host.logger.error({ error: String(error) }, 'a claim of processes failed');
      return undefined;
    }
  }

  private expectProgress(suspect: Pid | undefined): void {
    if (suspect === undefined) return;
    if (this.changedMeanwhile.has(suspect)) this.isCertain = true;
    else this.suspect = suspect;
  }
}

/** Whether nothing can be claimed by this node at the moment, whichever process it is. */
function isOfNode(error: unknown): boolean {
  if (!(error instanceof KernelError)) return false;
  return error.retryable || isOutcomeUnknown(error) || error.code === 'KERNEL_CLOSED' || error.code === 'LEASE_LOST';
}

import type { ChildProcess } from 'node:child_process';
import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import { Logger } from '../../base/logger.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { EventFeed } from '../../events/event-feed.js';
import type { HostIdentity } from '../../kernel/node/node-repository.js';
import type { ProcessRow } from '../../kernel/process/process.js';
import { NodeLease, type Relinquished } from '../../runtime/node/node-lease.js';
import { CommandDriver, CommandDriverDeps, type DrivenCommand } from './command-driver.js';
import type { Launch } from './launch.js';

/** All commands that this node drives. What the process table orders, they are told by the feed of events. */
@injectable()
export class CommandDrivers {
  private readonly drivers = new Map<Pid, CommandDriver>();
  /** Until nothing is left to be done of each. */
  private readonly work = new Map<CommandDriver, Promise<unknown>>();
  /** Whether it still takes commands. */
  isOpen = true;
  private subscriptions: Disposable[] = [];

  constructor(
    @inject(CommandDriverDeps) private readonly kit: CommandDriverDeps,
    @inject(EventFeed) private readonly feed: EventFeed,
    @inject(NodeLease) private readonly lease: NodeLease,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  has(pid: Pid): boolean {
    return this.drivers.has(pid);
  }

  /** Before the commit by which this node takes it, so that no order is missed; without that commit, forget it. */
  prepare(pid: Pid): CommandDriver {
    if (this.subscriptions.length === 0) this.listen();
    const driver = new CommandDriver(pid, this.kit);
    this.drivers.set(pid, driver);
    return driver;
  }

  forget(driver: CommandDriver): void {
    if (this.drivers.get(driver.pid) === driver) this.drivers.delete(driver.pid);
  }

  /** Starts the program of a command that this node has taken. Resolves when it runs; undefined when it could not start. */
  start(driver: CommandDriver, command: DrivenCommand, launch: Launch): Promise<ChildProcess | undefined> {
    if (!this.isOpen) driver.shutDown(0);
    const starting = driver.start(command, launch);
    this.follow(driver, starting);
    return starting;
  }

  adopt(command: DrivenCommand, leader: HostIdentity, row: ProcessRow): void {
    const driver = this.prepare(row.pid);
    driver.adopt(command, leader, row);
    this.follow(driver, Promise.resolve());
  }

  /**
   * Stops all that do not survive the kernel, within `graceMs` and the time that a kill takes, and lets go of the others.
   */
  async close(graceMs: number): Promise<Relinquished> {
    this.isOpen = false;
    const survivors = [...this.drivers.values()].filter(({ survives }) => survives);
    for (const driver of survivors) this.leave(driver);
    const others = [...this.drivers.values()];
    for (const driver of others) driver.shutDown(graceMs);
    await Promise.all(this.work.values());
    for (const subscription of this.subscriptions) subscription[Symbol.dispose]();
    this.kit.guard.close();
    const ended = (isLost: boolean) =>
      others.flatMap(({ pid, ending }) => (ending !== undefined && (ending === 'abandoned') === isLost ? [pid] : []));
    return { released: survivors.map(({ pid }) => pid), abandoned: ended(true), stopped: ended(false) };
  }

  private listen(): void {
    this.subscriptions = [
      this.feed.subscribe('commandDrivers', {
        'budget.limited': () => {
          for (const driver of this.drivers.values()) void driver.remeasure().catch(() => undefined);
        },
        'process.stopping': ({ pid = '', data }) => this.drivers.get(pid)?.stop(data.alarmAt),
        'process.paused': ({ pid = '' }) => this.drivers.get(pid)?.pause(),
        'process.resumed': ({ pid = '' }) => this.drivers.get(pid)?.resume(),
        'process.exited': ({ pid = '' }) => this.drivers.get(pid)?.endedElsewhere(),
        'process.adopted': ({ pid = '', data }) => {
          const driver = this.drivers.get(pid);
          if (driver !== undefined && data.node !== this.node.nodeId) this.leave(driver);
        },
      }),
      this.lease.onLost(() => {
        for (const driver of [...this.drivers.values()]) this.leave(driver);
      }),
    ];
  }

  private leave(driver: CommandDriver): void {
    driver.leave();
    this.forget(driver);
    this.work.delete(driver);
  }

  private follow(driver: CommandDriver, starting: Promise<unknown>): void {
    const whole = starting
      .then(() => driver.over)
      .catch((error: unknown) => {
        this.logger.error({ pid: driver.pid, error: String(error) }, 'a command could not be driven');
      })
      .finally(() => {
        this.work.delete(driver);
        this.forget(driver);
      });
    this.work.set(driver, whole);
  }
}

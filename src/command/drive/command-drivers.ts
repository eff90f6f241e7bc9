import type { ChildProcess } from 'node:child_process';
import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import { Logger } from '../../base/logger.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { EventFeed } from '../../events/event-feed.js';
import type { HostIdentity } from '../../kernel/node/node-repository.js';
import type { ProcessRow } from '../../kernel/process/process.js';
import { NodeLease, type RelinquishedProcesses } from '../../runtime/node/node-lease.js';
import { AdoptedDriver, type InterruptFunction } from './adopted-driver.js';
import type { AdoptedProgram } from './adopted-processes.js';
import { CommandDriver, CommandDriverDeps, type DrivenCommand } from './command-driver.js';
import type { Driver } from './driver.js';
import type { Launch } from './launch.js';

/** The drivers of all commands that this node holds. Passes the events of their processes on to them. */
@injectable()
export class CommandDrivers {
  private readonly drivers = new Map<Pid, Driver>();
  /** Of adopted programs that have not ended. */
  private readonly interrupts = new Map<Pid, InterruptFunction>();
  /** Resolve when the driver is done. */
  private readonly running = new Map<Driver, Promise<unknown>>();
  /** False once the kernel is being closed: no more commands are started or adopted. */
  isOpen = true;
  private subscriptions: Disposable[] = [];

  constructor(
    @inject(CommandDriverDeps) private readonly deps: CommandDriverDeps,
    @inject(EventFeed) private readonly feed: EventFeed,
    @inject(NodeLease) private readonly lease: NodeLease,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  has(pid: Pid): boolean {
    return this.drivers.has(pid);
  }

  /** To be called before the commit by which this node takes the command, so that no event is missed. If that fails, call `forget`. */
  register(pid: Pid): CommandDriver {
    if (this.subscriptions.length === 0) this.subscribe();
    const driver = new CommandDriver(pid, this.deps);
    this.drivers.set(pid, driver);
    return driver;
  }

  /** As `register`, for a program that somebody else has started. If the commit fails, call `forgetAdopted`. */
  registerAdopted(pid: Pid, program: AdoptedProgram, interrupt?: InterruptFunction): AdoptedDriver {
    if (this.subscriptions.length === 0) this.subscribe();
    if (interrupt !== undefined) this.interrupts.set(pid, interrupt);
    const driver = new AdoptedDriver(pid, this.deps, program, this.interrupts.get(pid));
    this.drivers.set(pid, driver);
    return driver;
  }

  /** Watches an adopted program; a kernel that is being closed leaves that to the next one. */
  beginAdopted(driver: AdoptedDriver, row: ProcessRow): void {
    if (this.isOpen) {
      driver.begin(row);
      this.track(driver, Promise.resolve());
    } else {
      this.release(driver);
    }
  }

  forgetAdopted(driver: AdoptedDriver): void {
    this.interrupts.delete(driver.pid);
    this.forget(driver);
  }

  forget(driver: Driver): void {
    if (this.drivers.get(driver.pid) === driver) this.drivers.delete(driver.pid);
  }

  /** Starts the program. Resolves when it runs; with undefined when it could not be started. */
  start(driver: CommandDriver, command: DrivenCommand, launch: Launch): Promise<ChildProcess | undefined> {
    if (!this.isOpen) driver.shutDown(0);
    const starting = driver.start(command, launch);
    this.track(driver, starting);
    return starting;
  }

  adopt(command: DrivenCommand, leader: HostIdentity, row: ProcessRow): void {
    const driver = this.register(row.pid);
    driver.adopt(command, leader, row);
    this.track(driver, Promise.resolve());
  }

  /** Stops all commands that do not survive the kernel, within `graceMs` and the time that a kill takes, and releases the others. */
  async close(graceMs: number): Promise<RelinquishedProcesses> {
    this.isOpen = false;
    const survivors = [...this.drivers.values()].filter(({ survives }) => survives);
    for (const driver of survivors) this.release(driver);
    const stopped = [...this.drivers.values()];
    for (const driver of stopped) driver.shutDown(graceMs);
    await Promise.all(this.running.values());
    for (const subscription of this.subscriptions) subscription[Symbol.dispose]();
    this.deps.guard.close();
    this.deps.copier.close();
    const ended = (isLost: boolean) =>
      stopped.flatMap(({ pid, outcomeKind: ending }) =>
        ending !== undefined && (ending === 'abandoned') === isLost ? [pid] : [],
      );
    return { released: survivors.map(({ pid }) => pid), abandoned: ended(true), stopped: ended(false) };
  }

  private subscribe(): void {
    this.subscriptions = [
      this.feed.subscribe('commandDrivers', {
        'budget.limited': () => {
          for (const driver of this.drivers.values()) void driver.meterIfLimited().catch(() => undefined);
          void this.deps.copier.refresh().catch(() => undefined);
        },
        'process.stopping': ({ pid = '', data }) => this.drivers.get(pid)?.stop(data.alarmAt),
        'process.paused': ({ pid = '' }) => this.drivers.get(pid)?.pause(),
        'process.resumed': ({ pid = '' }) => this.drivers.get(pid)?.resume(),
        'process.exited': ({ pid = '' }) => {
          this.interrupts.delete(pid);
          this.drivers.get(pid)?.onEndedElsewhere();
        },
        'process.adopted': ({ pid = '', data }) => {
          const driver = this.drivers.get(pid);
          if (driver !== undefined && data.node !== this.node.nodeId) this.release(driver);
        },
      }),
      this.lease.onLost(() => {
        for (const driver of [...this.drivers.values()]) this.release(driver);
      }),
    ];
  }

  private release(driver: Driver): void {
    driver.release();
    this.forget(driver);
    this.running.delete(driver);
  }

  private track(driver: Driver, starting: Promise<unknown>): void {
    const completion = starting
      .then(() => driver.done)
      .catch((error: unknown) => {
        this.logger.error({ pid: driver.pid, error: String(error) }, 'a command could not be driven');
      })
      .finally(() => {
        this.running.delete(driver);
        this.forget(driver);
      });
    this.running.set(driver, completion);
  }
}

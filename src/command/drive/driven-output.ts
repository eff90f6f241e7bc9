import type { ChildProcess } from 'node:child_process';
import type { Pid } from '../../base/ids.js';
import type { Logger } from '../../base/logger.js';
import type { OutputCopier } from '../output/output-copier.js';
import type { OutputFiles } from '../output/output-files.js';
import type { OutputMeter } from '../output/output-meter.js';
import { type Launch, type LaunchFailure, startProgram } from './launch.js';

const pollMs = 200;

/** What the output of a command needs. */
export interface OutputParts {
  readonly files: OutputFiles;
  readonly meter: OutputMeter;
  readonly copier: OutputCopier;
  readonly logger: Logger;
}

/** Who drives the command. */
export interface OutputOwner {
  /** Whether the command was ordered to stop: nothing more is charged then until its end. */
  isStopping(): boolean;
  /** Whether its end is on its way, so that reaching the limit changes nothing. */
  isEnding(): boolean;
  orderStopAtLimit(): Promise<void>;
}

/** The output of one command while it is driven: copied as far as its limit allows, and charged while it grows. */
export class DrivenOutput {
  private poll: NodeJS.Timeout | undefined;
  private charging: Promise<void> | undefined;
  /** Set when it is copied: resolves when that has begun. */
  private copying: Promise<void> | undefined;

  constructor(
    private readonly pid: Pid,
    private readonly parts: OutputParts,
    private readonly driver: OutputOwner,
  ) {}

  get isCopied(): boolean {
    return this.copying !== undefined;
  }

  /** `n` is the number of the row. Gives why the pipes could not be made. */
  async makePipes(n: number): Promise<LaunchFailure | undefined> {
    try {
      await this.parts.copier.makePipes(n);
      return undefined;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const errno = typeof code === 'string' ? code : 'EIO';
      return { errno, message: `The pipes for its output could not be made: ${errno}.` };
    }
  }

  /** Starts the program so that its output is copied as far as its limit allows. */
  async startCopied(
    launch: Launch,
    variables: Readonly<Record<string, string>>,
    n: number,
    token: string,
  ): Promise<ChildProcess | LaunchFailure> {
    const { copier, files, logger } = this.parts;
    let readers: readonly number[] = [];
    const child = await startProgram(launch, variables, () => {
      const descriptors = files.openPipes(n, token);
      readers = descriptors.readers;
      return descriptors;
    });
    if ('errno' in child) {
      copier.discard(n, readers);
      return child;
    }
    this.copying = copier
      .add(this.pid, n, readers, () => void this.stopAtLimit())
      .catch((error: unknown) => {
        logger.error({ pid: this.pid, error: String(error) }, 'the output of a command is not copied');
        copier.remove(this.pid, false);
      });
    return child;
  }

  /** Waits until everything that was written is in the files. A command that was cut off at its limit is one that was stopped. */
  async finish(n: number, isChild: boolean): Promise<void> {
    const { copier } = this.parts;
    if (this.copying === undefined) {
      if (!isChild) await copier.waitForOther(n);
    } else {
      await this.copying;
      if (await copier.finish(this.pid)) await this.stopAtLimit();
    }
    clearInterval(this.poll);
    await this.charging;
  }

  async meterIfLimited(n: number): Promise<void> {
    if (this.poll === undefined && (await this.parts.meter.hasLimit(this.pid))) this.startMetering(n);
  }

  /** Charges the output while it grows. Polls in real time, which the timers of the kernel's clock do not measure. */
  startMetering(n: number): void {
    let chargedSize = 0;
    this.poll = setInterval(() => {
      const size = this.parts.files.bytesWritten(n);
      if (size === chargedSize || this.charging !== undefined || this.driver.isStopping()) return;
      chargedSize = size;
      this.charging = this.charge(size).finally(() => {
        this.charging = undefined;
      });
    }, pollMs).unref();
  }

  /** Nothing of the output was written. */
  discard(n: number): void {
    this.parts.copier.discard(n, []);
  }

  /** `isLeft`: what goes on to write is copied on. */
  close(isReleased: boolean, isLeft: boolean): void {
    clearInterval(this.poll);
    if (isReleased) this.parts.copier.release(this.pid);
    else this.parts.copier.remove(this.pid, isLeft);
  }

  private async stopAtLimit(): Promise<void> {
    if (!this.driver.isEnding()) await this.driver.orderStopAtLimit();
  }

  private async charge(size: number): Promise<void> {
    const { meter, copier, logger } = this.parts;
    try {
      if (await meter.charge(this.pid, size)) await copier.refresh();
      else await this.driver.orderStopAtLimit();
    } catch (error) {
      logger.error({ pid: this.pid, error: String(error) }, 'the output of a command was not charged');
    }
  }
}

import { performance } from 'node:perf_hooks';
import { inject, injectable } from 'inversify';
import { Logger } from '../../base/logger.js';
import { OsGroups } from '../../runtime/os/os-groups.js';
import { CommandGuard } from './command-guard.js';
import type { CommandProcesses } from './command-processes.js';

const firstLookMs = 50;
const lookMsMax = 2_000;
/** A look may take this part of the time. */
const shareMax = 0.02;

/**
 * Looks at the process tree while commands run, one look for all of them: a process that gives up every mark of its command
 * is known from then on, also after it has left the tree. What has left the group is told to the guard.
 */
@injectable()
export class TreeWatch {
  private readonly watched = new Set<CommandProcesses>();
  private timer: NodeJS.Timeout | undefined;
  /** When the timer is due. */
  private dueAt = 0;
  private lookMs = firstLookMs;
  private tookMs = 0;
  private isLooking = false;

  constructor(
    @inject(OsGroups) private readonly groups: OsGroups,
    @inject(CommandGuard) private readonly guard: CommandGuard,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  add(processes: CommandProcesses): void {
    this.watched.add(processes);
    this.lookMs = firstLookMs;
    this.schedule();
  }

  remove(processes: CommandProcesses): void {
    this.watched.delete(processes);
    if (this.watched.size > 0) return;
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private schedule(): void {
    if (this.isLooking || this.watched.size === 0) return;
    const delayMs = Math.max(this.lookMs, this.tookMs / shareMax);
    const dueAt = performance.now() + delayMs;
    if (this.timer !== undefined && this.dueAt <= dueAt) return;
    clearTimeout(this.timer);
    this.dueAt = dueAt;
    this.timer = setTimeout(() => void this.look(), delayMs).unref();
    this.lookMs = Math.min(this.lookMs * 2, lookMsMax);
  }

  private async look(): Promise<void> {
    this.isLooking = true;
    this.timer = undefined;
    const from = performance.now();
    try {
      const sweep = await this.groups.sweep();
      for (const processes of this.watched) {
        for (const found of processes.noteTree(sweep)) this.guard.addMember(processes.target.marks.token, found);
      }
    } catch (error) {
      this.logger.error({ error: String(error) }, 'the processes of commands could not be looked at');
    } finally {
      this.tookMs = performance.now() - from;
      this.isLooking = false;
      this.schedule();
    }
  }
}

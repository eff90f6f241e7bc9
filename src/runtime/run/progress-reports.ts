import { inject, injectable } from 'inversify';
import { Logger } from '../../base/logger.js';
import type { Progress } from '../../kernel/process/process.js';
import { External } from '../../kernel/syscalls/external.js';
import type { Run } from './run.js';

/** How often a run writes how far it is. */
const everyMs = 250;

interface Pending {
  latest: Partial<Record<keyof Progress, unknown>> | undefined;
  timer: NodeJS.Timeout | undefined;
}

/** Writes how far runs are: at once, and then the latest of each quarter of a second. */
@injectable()
export class ProgressReports {
  private readonly pending = new WeakMap<Run, Pending>();

  constructor(
    @inject(External) private readonly external: External,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  report(run: Run, progress: Partial<Record<keyof Progress, unknown>>): void {
    const pending: Pending = this.pending.get(run) ?? { latest: undefined, timer: undefined };
    this.pending.set(run, pending);
    pending.latest = progress;
    if (pending.timer === undefined) this.write(run, pending);
  }

  /** What was reported last is written, before the process ends. */
  flush(run: Run): void {
    const pending = this.pending.get(run);
    clearTimeout(pending?.timer);
    if (pending?.latest !== undefined) this.write(run, pending);
    clearTimeout(pending?.timer);
  }

  private write(run: Run, pending: Pending): void {
    const { latest } = pending;
    pending.latest = undefined;
    pending.timer = setTimeout(() => {
      pending.timer = undefined;
      if (pending.latest !== undefined && run.over === undefined) this.write(run, pending);
    }, everyMs).unref();
    if (latest !== undefined) void this.send(run, latest);
  }

  /** A report that fails is no failure of the body: it is told to the log. */
  private async send(run: Run, progress: object): Promise<void> {
    try {
      const call = run.beginReport();
      try {
        await this.external.reported(
          { face: 'process', pid: run.pid, run: run.hooks(call, { isFinished: true }) },
          run.pid,
          progress,
        );
      } finally {
        run.finish(call);
      }
    } catch (error) {
      this.logger.warn({ pid: run.pid, error: String(error) }, 'progress was not written');
    }
  }
}

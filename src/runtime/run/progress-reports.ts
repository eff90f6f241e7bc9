import { inject, injectable } from 'inversify';
import { Logger } from '../../base/logger.js';
import type { Progress } from '../../kernel/process/process.js';
import { External } from '../../kernel/syscalls/external.js';
import type { Run } from './run.js';

/** The shortest time between two reports of a run that are written. */
const intervalMs = 250;

interface Pending {
  latest: Partial<Record<keyof Progress, unknown>> | undefined;
  timer: NodeJS.Timeout | undefined;
}

/** Writes the progress of runs: the first report at once, then the latest of each interval. */
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

  /** Writes the last report without waiting for the interval. To be called before the process ends. */
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
      if (pending.latest !== undefined && run.endReason === undefined) this.write(run, pending);
    }, intervalMs).unref();
    if (latest !== undefined) void this.send(run, latest);
  }

  /** A report that cannot be written is logged: it does not fail the body. */
  private async send(run: Run, progress: object): Promise<void> {
    try {
      const call = run.beginReport();
      try {
        await this.external.reportOwnProgress(
          { face: 'process', pid: run.pid, run: run.hooksFor(call, { ignoresPause: true }) },
          run.pid,
          progress,
        );
      } finally {
        run.finish(call);
      }
    } catch (error) {
      this.logger.warn({ pid: run.pid, error: String(error) }, 'progress could not be recorded');
    }
  }
}

import { inject, injectable } from 'inversify';
import { type KernelError, ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import { keepAlive } from '../../base/keep-alive.js';
import { type ReadTx, Store } from '../../base/store.js';
import type { ActingProcess, Call, ProcessCaller } from '../../unit/caller.js';
import type { ProcessGate } from '../../unit/process-gate.js';
import { isTerminal, type ProcessRow, pauserOf, toActingProcess } from '../process/process.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { ProcessRepository } from '../process/process-repository.js';
import { processTerminated } from '../process/transitions.js';
import { Notifier, ResumeWatch } from '../waiting/process-watch.js';
import { Deadlines } from './deadlines.js';

/** Holds the calls that come through the faces of paused processes back until these are resumed. */
@injectable()
export class FaceGate implements ProcessGate {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(ResumeWatch) private readonly resumes: ResumeWatch,
    @inject(Deadlines) private readonly deadlines: Deadlines,
  ) {}

  async find(tx: ReadTx, pid: Pid): Promise<ActingProcess | undefined> {
    const row = await this.processes.find(tx, pid);
    return row === undefined ? undefined : toActingProcess(row);
  }

  async findLive(tx: ReadTx, pid: Pid): Promise<ActingProcess> {
    return toActingProcess(await this.lookup.getLive(tx, pid));
  }

  async waitUntilResumed({ pid, pausedMs }: ProcessCaller, { signal, timeLimit }: Call): Promise<void> {
    const callMs = timeLimit === undefined ? undefined : Math.max(0, timeLimit.until - performance.now());
    const timeoutMs = Math.min(callMs ?? Number.POSITIVE_INFINITY, pausedMs ?? Number.POSITIVE_INFINITY);
    using notifier = new Notifier({ signal, ...(timeoutMs === Number.POSITIVE_INFINITY ? {} : { timeoutMs }) });
    using _alive = keepAlive();
    // Watched before the row is read: a resume that is committed in between is not missed.
    using _watch = this.resumes.watch([pid], (notified) => notifier.notify(notified));
    for (;;) {
      const row = await this.store.read((tx) => this.processes.find(tx, pid));
      if (row === undefined || this.deadlines.isPassed(row)) return;
      if (isTerminal(row.status)) throw processTerminated(row);
      if (row.status === 'stopping') throw stoppedWhilePaused(row);
      if (row.status !== 'paused') return;
      if (signal?.aborted === true) throw givenUp(row);
      if (notifier.expired) {
        const facts = { paused: true, pausedBy: pauserOf(row) };
        throw timeoutMs === callMs && timeLimit !== undefined ? timeLimit.error(facts) : stillPaused(row, timeoutMs);
      }
      using _deadline = this.deadlines.watch(row, () => notifier.notify(pid));
      await notifier.next();
    }
  }

  stopExpired(pid: Pid): Promise<KernelError> {
    return this.deadlines.stopExpired(pid);
  }
}

function stoppedWhilePaused({ pid, stop }: ProcessRow): ProcessError {
  return new ProcessError('CANCELLED', `Process ${pid} was stopped while the call waited for the end of its pause.`, {
    facts: { pid, reason: stop?.kind ?? null },
    hint: 'Clean up and end; nothing of the call was done.',
  });
}

function givenUp(row: ProcessRow): ProcessError {
  return new ProcessError('CANCELLED', `Process ${row.pid} is paused, and the call was given up by its caller.`, {
    facts: { pid: row.pid, paused: true, pausedBy: pauserOf(row) },
    hint: 'Nothing of the call was done; make it again when the process is resumed.',
    retryable: true,
  });
}

function stillPaused(row: ProcessRow, timeoutMs: number): ProcessError {
  return new ProcessError(
    'WAIT_TIMEOUT',
    `Process ${row.pid} is paused: the call was not made within ${timeoutMs} ms.`,
    {
      facts: { pid: row.pid, paused: true, pausedBy: pauserOf(row), timeoutMs },
      hint: 'Nothing of the call was done. Make it again when the process is resumed.',
      retryable: true,
    },
  );
}

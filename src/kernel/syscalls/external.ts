import { inject, injectable } from 'inversify';
import { ProcessError } from '../../base/errors.js';
import type { ReadTx } from '../../base/store.js';
import type { Call, Caller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import { AdoptedEnds } from '../command/adopted-ends.js';
import { ProcessEnds } from '../lifecycle/process-ends.js';
import type { ProcessRow } from '../process/process.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { ProcessRepository, saveProcess } from '../process/process-repository.js';
import { nextState } from '../process/transitions.js';
import { parse, parsePid, parseReason, progressSpec } from '../specs.js';
import { Exit } from './exit.js';

/** Reports on processes that run outside the kernel, and on adopted programs: complete, fail, progress, abandon. */
@injectable()
export class External {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ProcessEnds) private readonly processEnds: ProcessEnds,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(Exit) private readonly exit: Exit,
    @inject(AdoptedEnds) private readonly adopted: AdoptedEnds,
  ) {}

  async complete(caller: Caller, pid: unknown, result: unknown): Promise<void> {
    if (await this.isAdopted(caller, pid)) return this.adopted.complete(caller, pid, result);
    await this.exit.run(caller, pid, result === undefined ? {} : { result });
  }

  async fail(caller: Caller, pid: unknown, message: unknown): Promise<void> {
    await this.assertExternal(caller, pid);
    await this.exit.run(caller, pid, { failed: true, message: parseReason(message, 'message') });
  }

  /** The first report also starts the process. */
  async progress(caller: Caller, input: unknown, progress: unknown): Promise<void> {
    await this.saveProgress(caller, input, progress, requireExternal);
  }

  /** Saves the progress that a body reports of its own process. */
  async reportOwnProgress(caller: Caller, input: unknown, progress: unknown): Promise<void> {
    await this.saveProgress(caller, input, progress, (row) => row);
  }

  private async saveProgress(
    caller: Caller,
    input: unknown,
    rawProgress: unknown,
    checkKind: (row: ProcessRow) => ProcessRow,
  ): Promise<void> {
    const pid = parsePid(input);
    const progress = parse(progressSpec, rawProgress, 'progress') as NonNullable<ProcessRow['progress']>;
    await this.units.commit(
      { caller, actor: 'host', action: 'process.progress', target: pid, actsFor: pid },
      async (tx, act) => {
        const row = checkKind(await this.lookup.getLive(tx, pid));
        const starts = row.status === 'created' || row.status === 'runnable';
        const started = starts ? { ...nextState(row, 'start'), startedAt: act.at } : row;
        const next = { ...started, version: row.version + 1, progress, updatedAt: act.at };
        await saveProcess(this.processes, tx, next);
        if (starts) {
          this.recorder.record(tx, act, next, {
            event: 'process.started',
            data: { kind: row.kind },
            action: 'process.start',
            before: row.status,
            after: next.status,
          });
        }
        const { done, total = null, text } = progress;
        this.recorder.record(tx, act, next, {
          event: 'process.progressed',
          data: { done, total },
          action: 'process.progress',
          before: next.status,
          after: next.status,
          facts: { done, total },
          ...(text === undefined ? {} : { payload: { text } }),
        });
      },
    );
  }

  /** Ends a process whose outcome will never be known. */
  async abandon(caller: Caller, input: unknown, rawReason: unknown): Promise<void> {
    const pid = parsePid(input);
    const reason = parseReason(rawReason, 'reason');
    await this.units.commit({ caller, actor: 'host', action: 'process.abandon', target: pid }, async (tx, act) => {
      const row = await this.lookup.getLive(tx, pid);
      const outcome = { kind: 'abandoned', reason, by: act.actor, evidence: { kind: 'requested' } } as const;
      await this.processEnds.end(tx, act, {
        row,
        ended: nextState(row, 'abandon'),
        outcome,
        action: 'process.abandon',
      });
    });
  }

  private assertExternal(caller: Caller, input: unknown): Promise<ProcessRow> {
    return this.read(caller, input, async (_tx, row) => requireExternal(row));
  }

  /** Whether it is an adopted program. Throws INVALID_TRANSITION for one that is not external either. */
  private isAdopted(caller: Caller, input: unknown): Promise<boolean> {
    return this.read(caller, input, async (tx, row) => {
      const isAdopted = await this.adopted.has(tx, row);
      if (!isAdopted) requireExternal(row);
      return isAdopted;
    });
  }

  private async read<T>(caller: Caller, input: unknown, work: (tx: ReadTx, row: ProcessRow) => Promise<T>): Promise<T> {
    const pid = parsePid(input);
    const call: Call = { caller, actor: 'host', action: 'process.exit', target: pid };
    return this.units.read(call, async (tx) => work(tx, await this.lookup.getLive(tx, pid)));
  }
}

function requireExternal(row: ProcessRow): ProcessRow {
  if (row.kind === 'external') return row;
  throw new ProcessError(
    'INVALID_TRANSITION',
    `Process ${row.pid} is of kind ${row.kind}; it is not completed from outside.`,
    {
      facts: { pid: row.pid, kind: row.kind },
      hint: 'Use processes.exit to end it for its body.',
    },
  );
}

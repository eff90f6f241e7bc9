import { inject, injectable } from 'inversify';
import { type JsonValue, sha256Hex } from '../../base/json.js';
import { ProcessFaces } from '../../kernel/face/process-faces.js';
import { type ProcessTools, type ToolCallOptions } from '../../kernel/face/process-tools.js';
import { ToolGate, type ToolStage } from '../../kernel/face/tool-gate.js';
import type { ProcessCaller } from '../../unit/caller.js';
import type { OpenCall } from './call-tree.js';
import { Calls, plain } from './calls.js';
import { isOfShutdown, ReplayJournal } from './replay-journal.js';
import type { Run } from './run.js';

/** The tools of bodies: a call that has been answered is not made again, and one that had begun is known. */
@injectable()
export class RunTools {
  constructor(
    @inject(ToolGate) private readonly gate: ToolGate,
    @inject(ProcessFaces) private readonly faces: ProcessFaces,
    @inject(Calls) private readonly calls: Calls,
    @inject(ReplayJournal) private readonly journal: ReplayJournal,
  ) {}

  of(run: Run): ProcessTools {
    return {
      list: async () => this.calls.live(run, (face) => face.tools.list()),
      call: async (name, args = {}, options = {}) => this.call(run, name, args, options),
    };
  }

  private call(run: Run, name: string, args: JsonValue, options: ToolCallOptions): Promise<JsonValue> {
    const kept = new JournalledStage();
    const make = (call: OpenCall) => {
      const attempt = (run.replay.begun(call)?.attempt ?? 0) + 1;
      const { signal } = run;
      const idempotencyKey = keyOf(run, call);
      return this.gate.call({
        caller: this.caller(run, call, attempt, kept),
        face: this.faces.of(run.pid, run.hooks(call)),
        name,
        args,
        options,
        run: { signal, attempt, idempotencyKey },
      });
    };
    const note = async (call: OpenCall, error: unknown) => {
      if (error !== kept.failure) await this.journal.failed(run, call, error);
    };
    return this.calls.answered(run, 'tool', String(name), plain<JsonValue>(), make, note);
  }

  private caller(run: Run, call: OpenCall, attempt: number, kept: JournalledStage): ProcessCaller {
    const leave = async (tx: Leave[0], act: Leave[1], answer: unknown) => {
      const told = answer as ToolStage;
      kept.reached(told);
      if (told.stage === 'failed' && isOfShutdown(run, told.error)) return;
      await this.journal.staged(tx, act, run, call, attempt, told);
    };
    const hooks = run.hooks(call, {
      leave,
      // What has begun is written down when it is finished, also while the process is paused.
      get isFinished() {
        return kept.hasBegun;
      },
    });
    return { face: 'process', pid: run.pid, run: hooks };
  }
}

type Leave = Parameters<NonNullable<Parameters<Run['hooks']>[1]>['leave'] & {}>;

/** How far a call has come in this run. */
class JournalledStage {
  hasBegun = false;
  /** Written in the unit of the outcome: the journal has it. */
  failure: unknown;

  reached(told: ToolStage): void {
    this.hasBegun = true;
    if (told.stage === 'failed') this.failure = told.error;
  }
}

/** The same for every run of this program of the process. */
function keyOf({ row }: Run, { key }: OpenCall): string {
  return sha256Hex(`${row.pid}\n${row.generation}\n${key}`).slice(0, 32);
}

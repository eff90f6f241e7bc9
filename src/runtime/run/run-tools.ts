import { inject, injectable } from 'inversify';
import type { JsonValue } from '../../base/json.js';
import { type ExternalWork, openToolCall } from '../../kernel/face/open-tool-call.js';
import { ProcessFaces } from '../../kernel/face/process-faces.js';
import {
  type EditedCall,
  nameOfTool,
  type ProcessTools,
  sealedTools,
  type ToolCallOptions,
  type TypedTool,
  tellEdit,
} from '../../kernel/face/process-tools.js';
import { ToolGate, type ToolStage } from '../../kernel/face/tool-gate.js';
import type { ProcessCaller, RunHooks } from '../../unit/caller.js';
import { BodyCalls, dataAnswer } from './body-calls.js';
import type { OpenCall } from './call-tree.js';
import { isCausedByShutdown, ReplayJournal } from './replay-journal.js';
import type { Run } from './run.js';

/**
 * The tools of bodies. A tool call is journalled in both of its commits: after a crash between them the next run knows that
 * it had begun, and the gate decides by the tool's effect whether it is made again or is OUTCOME_UNKNOWN.
 */
@injectable()
export class RunTools {
  constructor(
    @inject(ToolGate) private readonly gate: ToolGate,
    @inject(ProcessFaces) private readonly faces: ProcessFaces,
    @inject(BodyCalls) private readonly calls: BodyCalls,
    @inject(ReplayJournal) private readonly journal: ReplayJournal,
  ) {}

  of(run: Run): ProcessTools {
    return sealedTools({
      list: async () => this.calls.runLive(run, (face) => face.tools.list()),
      call: async (tool, args = {}, given = {}) =>
        tellEdit(given, (options, remember) => this.call(run, tool, args, options, undefined, remember)),
      open: (tool, args = {}, options = {}) =>
        openToolCall(async (external) => this.call(run, tool, args, options, external)),
    });
  }

  private call(
    run: Run,
    tool: string | TypedTool,
    args: JsonValue,
    options: ToolCallOptions,
    external?: ExternalWork,
    remember: (edit: EditedCall | undefined) => void = () => undefined,
  ): Promise<JsonValue> {
    const progress = new CallProgress();
    const make = (call: OpenCall) => {
      const attempt = (run.replay.findUnanswered(call)?.attempt ?? 0) + 1;
      const paid = run.replay.paymentFor(call);
      const { signal } = run;
      const idempotencyKey = run.identityOf(call);
      return this.gate.call({
        caller: this.callerFor(run, call, attempt, progress),
        face: this.faces.of(run.pid, run.hooksFor(call)),
        tool,
        args,
        options,
        run: { signal, attempt, idempotencyKey, ...(paid === undefined ? {} : { paid }) },
        onEdited: remember,
        ...(external === undefined ? {} : { external }),
      });
    };
    const recordFailure = async (call: OpenCall, error: unknown) => {
      if (error !== progress.failure) await this.journal.recordFailure(run, call, error);
    };
    const name = String(nameOfTool(tool));
    return this.calls.replayOrRun(run, 'tool', name, dataAnswer<JsonValue>(), make, recordFailure, (call) =>
      remember(run.replay.findEdit(call)),
    );
  }

  private callerFor(run: Run, call: OpenCall, attempt: number, progress: CallProgress): ProcessCaller {
    const afterWrite: RunHooks['afterWrite'] = async (tx, act, answer) => {
      const stage = answer as ToolStage;
      progress.advance(stage);
      if (stage.stage === 'intent') run.replay.spendPayment(call);
      if (stage.stage === 'failed' && isCausedByShutdown(run, stage.error)) return;
      await this.journal.recordToolStage(tx, act, run, call, attempt, stage);
    };
    const hooks = run.hooksFor(call, {
      afterWrite,
      // A paused process begins no call, but the outcome of one that has begun is recorded.
      get ignoresPause() {
        return progress.hasBegun;
      },
    });
    return { face: 'process', pid: run.pid, run: hooks };
  }
}

/** The stages that a tool call has reached in this run. */
class CallProgress {
  hasBegun = false;
  /** The error that was journalled in the unit of the outcome, and needs no unit of its own. */
  failure: unknown;

  advance(stage: ToolStage): void {
    this.hasBegun = true;
    if (stage.stage === 'failed') this.failure = stage.error;
  }
}

import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { Commitments } from '../../base/commitments.js';
import type { CapabilityId } from '../../base/ids.js';
import { canonicalJson, isLongerThan, type JsonObject, type JsonValue } from '../../base/json.js';
import type { WriteTx } from '../../base/store.js';
import { AnswerEdited } from '../../capability/approval/approval-errors.js';
import { ApprovalLookup } from '../../capability/approval/approval-lookup.js';
import { EditedAnswers } from '../../capability/approval/edited-answers.js';
import { type Authorization, Authorizer } from '../../capability/decision/authorizer.js';
import { hashOfArgs } from '../../capability/decision/decide.js';
import type { Question } from '../../capability/decision/question.js';
import { factsOfApprovals } from '../../capability/rule/rule-gate.js';
import { Effects } from '../../kernel/effect/effects.js';
import type { CallEdit, PaidCall, TakenUses } from '../../kernel/face/tool-gate.js';
import type { ProcessRow } from '../../kernel/process/process.js';
import { ProcessLookup } from '../../kernel/process/process-lookup.js';
import type { Act } from '../../unit/act.js';
import type { Call } from '../../unit/caller.js';
import { OutdatedPreparation, Units } from '../../unit/units.js';
import type { ParsedTool } from '../tool-definition.js';
import { toolOutcomeUnknown } from '../tool-errors.js';
import { CallPreparer, type PreparedCall } from './call-preparer.js';
import type { CallTimeLimit } from './call-time-limit.js';
import { continueEdit, nextEdit, type PendingEdit } from './pending-edit.js';

/** A call as it was asked for, of a tool that the process sees. */
export interface CallRequest {
  readonly call: Call;
  readonly tool: ParsedTool;
  /** The process as it was when the tool was looked up. The call is prepared for it, and prepared again if it has changed. */
  readonly row: ProcessRow;
  readonly args: unknown;
  readonly using: CapabilityId | undefined;
  /** An earlier run began the same call, and its outcome is not known. */
  readonly isRepeated: boolean;
  /** Present when the earlier run was charged for it. */
  readonly paid: PaidCall | undefined;
  readonly limit: CallTimeLimit;
}

/** A call that is allowed and whose intent is on record. `stage` is for the journal of a run. */
export interface CallIntent {
  readonly stage: 'intent';
  readonly prepared: PreparedCall;
  readonly effectId: string;
  /** The id of the record of the intent. */
  readonly record: string;
  /** The capability that allows the call. */
  readonly capability: CapabilityId | 'kin';
  /** The generation of the process at that time: after an exec the result is not kept. */
  readonly generation: number;
  /** Whether the call itself was charged before; what it costs beyond that is not. */
  readonly isPaid: boolean;
  /** The uses of capabilities that were taken for the call, by this run or by an earlier one. */
  readonly uses: TakenUses | undefined;
  /** The arguments of a person that it is made with. */
  readonly edit: CallEdit | undefined;
}

/** Of longer arguments only the hash is recorded. */
const recordedArgsMax = 4_096;

/** Decides whether a call may run, sets its cost aside and records its intent, in one commit. */
@injectable()
export class ToolIntents {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(CallPreparer) private readonly preparer: CallPreparer,
    @inject(Authorizer) private readonly authorizer: Authorizer,
    @inject(Effects) private readonly effects: Effects,
    @inject(ApprovalLookup) private readonly approvals: ApprovalLookup,
    @inject(EditedAnswers) private readonly editedAnswers: EditedAnswers,
    @inject(Commitments) private readonly commitments: Commitments,
  ) {}

  /** Throws INVALID_INPUT, INVALID_PATH, CAPABILITY_DENIED, BUDGET_EXCEEDED, OUTCOME_UNKNOWN. */
  async record(request: CallRequest): Promise<CallIntent> {
    const { call, tool, row: firstRow, args, using, isRepeated, paid, limit } = request;
    const pid = call.actor;
    const hopeless = await this.preparer.hopelessQuestion(tool, pid, using, paid?.uses);
    if (hopeless !== undefined) await this.refuse(call, hopeless);
    let knownRow: ProcessRow | undefined = firstRow;
    let edit = continueEdit(paid?.edit);
    const prepare = async (outdated?: OutdatedPreparation) => {
      if (outdated instanceof AnswerEdited) edit = nextEdit(edit, outdated, this.commitments);
      const isSecond = knownRow === undefined;
      const row = knownRow ?? (await this.units.read(call, (tx) => this.lookup.getLive(tx, pid)));
      // If there is a second preparation, the row has changed since.
      knownRow = undefined;
      const ends = { limit, callerSignal: call.signal };
      const input = { args: edit === undefined ? args : edit.args, using, taken: paid?.uses, edit: edit?.use };
      const prepared = await this.preparer.prepare(tool, row, input, ends, isSecond);
      if (isRepeated && prepared.effect === 'once') throw toolOutcomeUnknown(tool.name);
      return prepared;
    };
    const intend = async (tx: WriteTx, act: Act, prepared: PreparedCall): Promise<CallIntent> => {
      const row = await this.lookup.getLive(tx, pid);
      if (row.cwd !== prepared.place.cwd) throw new OutdatedPreparation(pid);
      const isPaid = paid !== undefined;
      const begun = await this.authorize(tx, act, row, prepared, isPaid, edit);
      if (edit !== undefined) await this.approvals.useAll(tx, edit.approvals, pid, act.at);
      const made = edit === undefined ? undefined : toCallEdit(edit, prepared);
      return { stage: 'intent', prepared, ...begun, generation: row.generation, isPaid, edit: made };
    };
    try {
      return await this.units.commitPrepared(call, prepare, intend);
    } catch (error) {
      await this.editedAnswers.settleRefusal(pid, edit?.approvals, error);
      throw error;
    }
  }

  /** Throws the refusal; not if the call has become possible meanwhile. */
  private async refuse(call: Call, question: Question): Promise<void> {
    const context = { via: call.caller.face, at: this.clock.peek() };
    await this.units.read(call, (tx) => this.authorizer.preview(tx, context, question));
  }

  /** Decides on a call that is under way with other arguments. Throws INVALID_INPUT, CAPABILITY_DENIED. */
  async requireArgs({ prepared, capability }: CallIntent, rawArgs: unknown, signal: AbortSignal): Promise<void> {
    const { pid } = prepared.place;
    const question = this.preparer.questionWithArgs(prepared, rawArgs, capability === 'kin' ? undefined : capability);
    // The hooks of a run are for the stages of the call itself.
    const caller = { face: 'process', pid } as const;
    await this.units.commit({ caller, actor: pid, action: toolCall, target: pid, signal }, async (tx, act) => {
      await this.authorizer.authorize(tx, act, question);
    });
  }

  /** Uses the authority that the call needs and begins its effect. */
  private async authorize(
    tx: WriteTx,
    act: Act,
    row: ProcessRow,
    prepared: PreparedCall,
    isPaid: boolean,
    edit: PendingEdit | undefined,
  ): Promise<Pick<CallIntent, 'effectId' | 'record' | 'capability' | 'uses'>> {
    const { tool, argsHash, questions } = prepared;
    const authorizations: Authorization[] = [];
    for (const question of questions) authorizations.push(await this.authorizer.authorize(tx, act, question));
    // It was prepared as a call that is refused.
    if (prepared.shown === undefined) throw new OutdatedPreparation(row.pid);
    const [given, ...resourceAuthorizations] = authorizations as [Authorization, ...Authorization[]];
    // Also where nothing asks about the edited arguments: it is by the answer that they are run.
    const callAuthorization = edit === undefined ? given : { ...given, approval: given.approval ?? edit.approval };
    const begun = await this.effects.begin(tx, act, {
      row,
      action: toolCall,
      resource: questions[0].request.text,
      authorization: callAuthorization,
      ceiling: { toolCalls: isPaid ? 0 : 1 },
      facts: {
        tool: tool.name,
        effect: prepared.effect,
        argsHash: this.commitments.hashOnRecord(argsHash, hashOfArgs(prepared.shown) === argsHash),
        ...(edit === undefined ? {} : { originalHash: edit.originalHash }),
        ...(resourceAuthorizations.length === 0
          ? {}
          : { alsoBy: [...new Set(resourceAuthorizations.map(({ capability }) => capability))] }),
        ...factsOfApprovals([callAuthorization, ...resourceAuthorizations].flatMap(({ approval }) => approval ?? [])),
      },
      payload: { ...recordedPayload(prepared.shown, questions), ...(edit === undefined ? {} : { editedBy: edit.by }) },
    });
    const uses = takenUsesOf(argsHash, questions, authorizations);
    return { ...begun, capability: callAuthorization.capability, uses };
  }
}

/** The uses that the authorizations took, or that were taken for the same call before. Undefined without any. */
function takenUsesOf(
  argsHash: string,
  questions: readonly Question[],
  authorizations: readonly Authorization[],
): TakenUses | undefined {
  const capabilities = authorizations.map(({ capability, counted }, index) => {
    const isTaken = counted > 0 || questions[index]?.continues === capability;
    return isTaken && capability !== 'kin' ? capability : null;
  });
  return capabilities.every((capability) => capability === null) ? undefined : { argsHash, capabilities };
}

function toCallEdit({ by, approval, originalHash }: PendingEdit, { args }: PreparedCall): CallEdit {
  return { args, by, approval, originalHash };
}

/** The arguments, unless they are too long, and the resources besides the tool itself. */
function recordedPayload(shown: JsonValue, [, ...resourceQuestions]: PreparedCall['questions']): JsonObject {
  const texts = resourceQuestions.map(({ right, request }) => `${right} ${request.text}`);
  const resources = texts.length === 0 ? {} : { resources: texts };
  const isLong = isLongerThan(shown, recordedArgsMax) || canonicalJson(shown).length > recordedArgsMax;
  return isLong ? resources : { args: shown, ...resources };
}

/** The action of tool calls in the audit log. */
export const toolCall = 'tool.call';

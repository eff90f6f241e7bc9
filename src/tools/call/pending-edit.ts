import type { Commitments } from '../../base/commitments.js';
import type { ApprovalId } from '../../base/ids.js';
import { isShownInFull } from '../../capability/approval/approval.js';
import type { AnswerEdited } from '../../capability/approval/approval-errors.js';
import type { AnswerUse } from '../../capability/decision/question.js';
import type { CallEdit } from '../../kernel/face/tool-gate.js';

/** Arguments of a person that a call is prepared with. */
export type PendingEdit = CallEdit & {
  readonly use: AnswerUse;
  /** Every answer that has edited the arguments on the way: each is used up by the call. */
  readonly approvals: readonly ApprovalId[];
};

/** The edit of an earlier run, whose program died before the outcome was on record. */
export function continueEdit(edit: CallEdit | undefined): PendingEdit | undefined {
  if (edit === undefined) return undefined;
  return { ...edit, use: { approval: edit.approval, isContinued: true }, approvals: [] };
}

/** The edit by an answer. The hash of the original stays that of the arguments that the call was asked for with. */
export function nextEdit(
  before: PendingEdit | undefined,
  { answer }: AnswerEdited,
  commitments: Commitments,
): PendingEdit {
  const { id: approval, editedArgs: args, answeredBy, argsHash } = answer;
  return {
    args,
    by: answeredBy ?? '',
    approval,
    originalHash: before?.originalHash ?? commitments.hashOnRecord(argsHash, isShownInFull(answer)),
    use: { approval, isContinued: false },
    approvals: [...(before?.approvals ?? []), approval],
  };
}

import type { Commitments } from '../../base/commitments.js';
import { invalidInput } from '../../base/errors.js';
import type { ApprovalId } from '../../base/ids.js';
import { isObject, type JsonObject, type JsonValue } from '../../base/json.js';
import { isShownInFull } from '../../capability/approval/approval.js';
import type { AnswerEdited } from '../../capability/approval/approval-errors.js';
import type { ParsedCommand } from '../plan/planned-command.js';

/** A command with the arguments of a person in the place of those that it was asked for with. */
export interface EditedCommand {
  /** As a spec that is still to be validated. */
  readonly spec: JsonObject;
  readonly by: string;
  readonly approval: ApprovalId;
  /** The hash of the arguments that the command was asked for with, keyed where those are not shown in full. */
  readonly originalHash: string;
  /** Every answer that has edited the arguments on the way. */
  readonly approvals: readonly ApprovalId[];
}

/** Members that a person sees without their content: they stay, unless others are given. */
const hiddenMembers = ['env', 'envMode', 'stdin'] as const;
/** Members that the caller relies on: an answer does not change them. */
const fixedMembers = ['background', 'survive', 'owner'] as const;

/** Throws INVALID_INPUT for arguments that are none of a command. */
export function editCommand(
  original: ParsedCommand,
  before: EditedCommand | undefined,
  { answer }: AnswerEdited,
  commitments: Commitments,
): EditedCommand {
  const { id: approval, editedArgs, answeredBy, argsHash } = answer;
  return {
    spec: { ...membersOf(original, hiddenMembers), ...checkArgs(editedArgs), ...membersOf(original, fixedMembers) },
    by: answeredBy ?? '',
    approval,
    originalHash: before?.originalHash ?? commitments.hashOnRecord(argsHash, isShownInFull(answer)),
    approvals: [...(before?.approvals ?? []), approval],
  };
}

function checkArgs(args: JsonValue): JsonObject {
  if (isObject(args)) return args;
  const hint = 'Give the arguments of the command as the approval shows them, such as { "argv": ["ls"] }.';
  throw invalidInput('answer.args', 'is not an object', hint);
}

function membersOf(spec: ParsedCommand, names: readonly (keyof ParsedCommand)[]): JsonObject {
  const known = names.filter((name) => spec[name] !== undefined);
  return Object.fromEntries(known.map((name) => [name, spec[name] as JsonValue]));
}

import { CapabilityError, ProcessError } from '../../base/errors.js';
import type { ApprovalId, Pid } from '../../base/ids.js';
import { Interruption } from '../../unit/interruption.js';
import { OutdatedPreparation } from '../../unit/units.js';
import type { ApprovalRecord, ApprovalRequest } from './approval.js';

/** A person has to approve the call first. Resolved by the approval gate. */
export class ApprovalNeeded extends Interruption {
  constructor(readonly request: ApprovalRequest) {
    super('APPROVAL_PENDING', `${request.pid} has to ask before it may ${request.right} ${request.resource}.`);
  }
}

/** A person has answered with other arguments: the call is prepared again with those. */
export class AnswerEdited extends OutdatedPreparation {
  override readonly isLimited: boolean = false;

  constructor(readonly answer: ApprovalRecord) {
    super(answer.pid);
  }
}

export function approvalPending(approval: ApprovalId, { pid, right, resource }: ApprovalRequest): CapabilityError {
  return new CapabilityError(
    'APPROVAL_PENDING',
    `Process ${pid} may ${right} ${resource} when a person has approved it.`,
    {
      facts: { pid, right, resource, approval, code: 'ASK' },
      hint: `Answer it with approvals.answer('${approval}', { decision: 'once', by: … }), then repeat the call.`,
      retryable: true,
    },
  );
}

export function approvalDenied(approval: ApprovalId, { pid, right, resource }: ApprovalRequest): CapabilityError {
  return new CapabilityError('APPROVAL_DENIED', `A person has refused process ${pid} to ${right} ${resource}.`, {
    facts: { pid, right, resource, approval },
    hint: 'Do something else, or explain and ask again.',
  });
}

export function tooManyApprovals({ pid, right, resource }: ApprovalRequest, pendingMax: number): CapabilityError {
  return new CapabilityError('TOO_MANY_APPROVALS', `Process ${pid} waits for ${pendingMax} answers already.`, {
    facts: { pid, right, resource, pendingMax },
    hint: 'Wait until one of them is answered.',
    retryable: true,
  });
}

export function askerStopping(pid: Pid): CapabilityError {
  return new CapabilityError('CANCELLED', `Process ${pid} is being stopped: it cannot wait for an answer.`, {
    facts: { pid },
    hint: 'Nothing was done; the question stays on record.',
  });
}

/** The caller has stopped waiting. The question stays: the same call later gets the same answer. */
export function approvalWaitCancelled(approval: ApprovalId, { pid, right, resource }: ApprovalRequest): ProcessError {
  return new ProcessError('CANCELLED', `The caller of process ${pid} did not wait for the answer to ${approval}.`, {
    facts: { pid, right, resource, approval },
    hint: 'Nothing was done. Repeat the call: it waits for the same answer, or has it at once.',
    retryable: true,
  });
}

export function noSuchApproval(approval: ApprovalId): CapabilityError {
  return new CapabilityError('NO_SUCH_APPROVAL', `There is no approval ${JSON.stringify(approval)}.`, {
    facts: { approval },
    hint: "approvals.list({ status: 'any' }) shows those that there are.",
  });
}

export function notPending(approval: ApprovalId, status: string): CapabilityError {
  return new CapabilityError('CONFLICT', `Approval ${approval} is ${status}: there is nothing to answer any more.`, {
    facts: { approval, status },
    hint: 'approvals.list() shows those that wait for an answer.',
  });
}

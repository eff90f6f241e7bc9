import { inject, injectable } from 'inversify';
import { CapabilityError, ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { ApprovalNeeded } from '../../capability/approval/approval-errors.js';
import { type Authorization, Authorizer } from '../../capability/decision/authorizer.js';
import { plainQuestion, type Question } from '../../capability/decision/question.js';
import { delegationDepthDefault } from '../../capability/holding/capability.js';
import { grantFacts, grantPayload } from '../../capability/holding/capability-record.js';
import { Grants } from '../../capability/holding/grants.js';
import { parsePattern, parseRequest } from '../../capability/resource/resource.js';
import type { CallContext } from '../../capability/rule/rule-gate.js';
import { ObjectRepository } from '../../memory/object/object-repository.js';
import type { Act } from '../../unit/act.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import type { ProcessResult, ProcessRow } from '../process/process.js';
import { ProcessResults } from '../process/process-results.js';

/** Results of processes that are no children of who waited for them. */
const resultsByRight = new WeakSet<ProcessResult>();

/** Whether a result was collected by the right `wait`: whether it can be collected again depends on that right. */
export function isByRight(result: ProcessResult): boolean {
  return resultsByRight.has(result);
}

/** The rights `wait` and `read` on processes that are no children of their holder. */
@injectable()
export class ProcessRights {
  constructor(
    @inject(Authorizer) private readonly authorizer: Authorizer,
    @inject(Grants) private readonly grants: Grants,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(ProcessResults) private readonly results: ProcessResults,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /** Uses up nothing. Throws NOT_A_CHILD without the right, CAPABILITY_DENIED where a rule forbids it, ApprovalNeeded. */
  preview(tx: ReadTx, context: CallContext, pid: Pid, right: 'wait' | 'read', target: Pid): Promise<Authorization> {
    return this.refuseUnheld(pid, target, () => this.authorizer.preview(tx, context, questionOf(pid, right, target)));
  }

  /** Uses up a counted use and an approval. Throws as `preview`. */
  authorize(tx: WriteTx, context: CallContext, pid: Pid, right: 'wait' | 'read', target: Pid): Promise<Authorization> {
    return this.refuseUnheld(pid, target, () => this.authorizer.authorize(tx, context, questionOf(pid, right, target)));
  }

  /**
   * The result of a process that has ended, for one that holds `wait` on it. The value, the message and a handle to the
   * result are only for one that holds `read` as well. Throws as `preview`.
   */
  async collect(tx: WriteTx, act: Act, waiter: ProcessRow, row: ProcessRow): Promise<ProcessResult> {
    const { pid } = waiter;
    const { capability, approval } = await this.authorize(tx, act, pid, 'wait', row.pid);
    const mayRead = await this.tryRead(tx, act, pid, row.pid);
    if (mayRead) await this.shareResult(tx, act, waiter, row);
    const whole = (await this.results.resultOf(tx, row, pid, act.at)) as ProcessResult;
    const result = mayRead ? whole : toSummary(whole);
    resultsByRight.add(result);
    this.recorder.record(tx, act, row, {
      event: 'process.waited',
      data: { by: pid },
      action: 'process.wait',
      capability,
      approval,
      facts: { result: row.result, reading: result.result?.capability ?? null },
    });
    return result;
  }

  private async tryRead(tx: WriteTx, act: Act, pid: Pid, target: Pid): Promise<boolean> {
    try {
      await this.authorizer.authorize(tx, act, questionOf(pid, 'read', target));
      return true;
    } catch (error) {
      if (error instanceof CapabilityError || error instanceof ApprovalNeeded) return false;
      throw error;
    }
  }

  /** The right to read the result, where the process has none yet. */
  private async shareResult(tx: WriteTx, act: Act, waiter: ProcessRow, row: ProcessRow): Promise<void> {
    const object = row.result === null ? undefined : await this.objects.find(tx, row.result);
    if (object === undefined || object.deletedAt !== null) return;
    const { pid, generation } = waiter;
    if ((await this.grants.findRead(tx, pid, object, 'read', act.at)) !== undefined) return;
    const pattern = parsePattern(`object:${object.id}`);
    const limits = { grantable: [], delegable: false, maxDepth: delegationDepthDefault };
    const authority = { pattern, rights: ['read'], ...limits } as const;
    const share = this.grants.createRoot({ pid, generation, at: act.at }, authority, row.pid);
    await this.grants.insert(tx, [share]);
    this.recorder.record(tx, act, waiter, {
      event: 'capability.granted',
      data: { capability: share.id },
      action: 'process.wait',
      facts: grantFacts([share], pid),
      ...grantPayload([share]),
      lineage: true,
    });
  }

  private async refuseUnheld<T>(pid: Pid, target: Pid, decide: () => Promise<T>): Promise<T> {
    try {
      return await decide();
    } catch (error) {
      if (error instanceof CapabilityError && error.facts.code !== 'DENY_RULE') throw notAChild(pid, target);
      throw error;
    }
  }
}

/** What `wait` alone tells. */
function toSummary({ pid, status, outcome, exitCode }: ProcessResult): ProcessResult {
  const code = exitCode === undefined ? {} : { exitCode };
  return { pid, status, outcome: { kind: outcome.kind, ...code }, ...code, usage: {} };
}

function questionOf(pid: Pid, right: 'wait' | 'read', target: Pid): Question {
  return plainQuestion(pid, right, parseRequest(`process:${target}`));
}

export function notAChild(pid: Pid, child: Pid): ProcessError {
  return new ProcessError('NOT_A_CHILD', `Process ${child} is not a child of ${pid}.`, {
    facts: { pid, child },
    hint: 'A process waits for its own children, and for those that it holds the right "wait" on; the host can use processes.result().',
  });
}

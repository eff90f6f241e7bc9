import { inject, injectable } from 'inversify';
import { CapabilityError, ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import { type Authorization, Authorizer } from '../../capability/decision/authorizer.js';
import { plainQuestion } from '../../capability/decision/question.js';
import { parseRequest } from '../../capability/resource/resource.js';
import type { Act } from '../../unit/act.js';
import { ProcessLookup } from '../process/process-lookup.js';

/** Whom a process may signal: its own children, and those that it holds a capability on. */
@injectable()
export class SignalAuthority {
  constructor(
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(Authorizer) private readonly warrants: Authorizer,
  ) {}

  /**
   * Answers with what allows it. A stranger and a pid that does not exist answer alike. Throws NOT_A_CHILD,
   * CAPABILITY_DENIED where a rule forbids it, PROCESS_TERMINATED, AskNeeded.
   */
  async of(tx: WriteTx, act: Act, pid: Pid, target: Pid, signal: string): Promise<Authorization> {
    await this.lookup.getLive(tx, pid);
    try {
      const request = parseRequest(`process:${target}`);
      return await this.warrants.authorize(tx, act, plainQuestion(pid, 'signal', request, { signal }));
    } catch (error) {
      throw isUnheld(error) ? notAChild(pid, target) : error;
    }
  }
}

function isUnheld(error: unknown): boolean {
  return error instanceof CapabilityError && error.facts.code !== 'DENY_RULE';
}

function notAChild(pid: Pid, child: Pid): ProcessError {
  return new ProcessError('NOT_A_CHILD', `Process ${pid} has no child ${JSON.stringify(child)}.`, {
    facts: { pid, child },
    hint: 'A process signals its own children, and those that it holds the right "signal" on.',
  });
}

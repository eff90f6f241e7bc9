import { inject, injectable } from 'inversify';
import { CapabilityError } from '../../base/errors.js';
import type { ApprovalId, CapabilityId, Pid } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import type { Act } from '../../unit/act.js';
import { type Authorization, Authorizer } from '../decision/authorizer.js';
import { plainQuestion } from '../decision/question.js';
import { parseRequest } from '../resource/resource.js';
import type { HolderState } from './capability-repository.js';
import { HolderLookup } from './holders.js';

interface ReachedReceiver {
  readonly holder: HolderState;
  readonly approval?: ApprovalId | undefined;
  /** The capability by which a process may send to the receiver. */
  readonly reachedBy?: CapabilityId | 'kin';
}

/** Checks who may receive a capability: from the host any process, from a process only those that it may send to. */
@injectable()
export class Receivers {
  constructor(
    @inject(HolderLookup) private readonly holderLookup: HolderLookup,
    @inject(Authorizer) private readonly authorizer: Authorizer,
  ) {}

  /**
   * The receiver, and the approval that was used. Throws NO_SUCH_PROCESS, PROCESS_TERMINATED, TREE_STOPPING. On a
   * process's face a receiver that it may not send to and one that does not exist are refused alike: CAPABILITY_DENIED.
   */
  async reach(tx: WriteTx, act: Act, from: Pid, to: Pid): Promise<ReachedReceiver> {
    if (act.via !== 'process') return { holder: await this.holderLookup.findActive(tx, to) };
    const { capability, approval } = await this.authorizeSend(tx, act, from, to);
    try {
      return { holder: await this.holderLookup.findActive(tx, to), approval, reachedBy: capability };
    } catch (error) {
      throw capability === 'kin' ? error : outOfReach(from, to);
    }
  }

  private async authorizeSend(tx: WriteTx, act: Act, from: Pid, to: Pid): Promise<Authorization> {
    try {
      return await this.authorizer.authorize(tx, act, plainQuestion(from, 'send', parseRequest(`process:${to}`)));
    } catch (error) {
      if (!(error instanceof CapabilityError)) throw error;
      throw outOfReach(from, to);
    }
  }
}

function outOfReach(from: Pid, to: Pid): CapabilityError {
  return new CapabilityError('CAPABILITY_DENIED', `Process ${from} may not give anything to ${JSON.stringify(to)}.`, {
    facts: { pid: from, to, right: 'send', resource: `process:${to}` },
    hint: 'Give it to a child, to the parent, or to a live process that you may send to.',
  });
}

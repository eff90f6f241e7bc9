import { inject, injectable } from 'inversify';
import { CapabilityError } from '../base/errors.js';
import type { Pid } from '../base/ids.js';
import type { ReadTx } from '../base/store.js';
import type { Act } from './act.js';
import { AskNeeded } from './approval-errors.js';
import type { HolderState } from './capability-repository.js';
import { Holders } from './holders.js';
import { plainQuestion } from './question.js';
import { parseRequest } from './resource.js';
import { type Warrant, Warrants } from './warrants.js';

/** To whom something may be given: the host may name anybody, a process only those that it may send to. */
@injectable()
export class Receivers {
  constructor(
    @inject(Holders) private readonly holders: Holders,
    @inject(Warrants) private readonly warrants: Warrants,
  ) {}

  /** On a process's face, one that is out of reach and one that does not exist are refused alike: CAPABILITY_DENIED. */
  async reachable(tx: ReadTx, act: Act, from: Pid, to: Pid): Promise<HolderState> {
    if (act.via !== 'process') return this.holders.active(tx, to);
    const { capability } = await this.reach(tx, act, from, to);
    try {
      return await this.holders.active(tx, to);
    } catch (error) {
      throw capability === 'kin' ? error : outOfReach(from, to);
    }
  }

  /** Giving takes no use of the right to send. */
  private async reach(tx: ReadTx, act: Act, from: Pid, to: Pid): Promise<Warrant> {
    try {
      return await this.warrants.look(tx, act, plainQuestion(from, 'send', parseRequest(`process:${to}`)));
    } catch (error) {
      if (error instanceof AskNeeded || !(error instanceof CapabilityError)) throw error;
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

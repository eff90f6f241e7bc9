import { inject, injectable } from 'inversify';
import { parseId } from '../../base/spec.js';
import type { Call, Caller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import { Authorizer } from '../decision/authorizer.js';
import type { Decision } from '../decision/decision.js';
import { QuestionParser } from '../decision/question.js';

@injectable()
export class Require {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(QuestionParser) private readonly questionParser: QuestionParser,
    @inject(Authorizer) private readonly authorizer: Authorizer,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /**
   * Decides in a unit of its own, takes a use and an approval, and is on record. Throws CAPABILITY_REVOKED or
   * CAPABILITY_EXPIRED where that alone was missing, otherwise CAPABILITY_DENIED; INVALID_INPUT for a bad request; where
   * a rule asks, APPROVAL_PENDING on the host's face, and APPROVAL_DENIED.
   */
  async run(caller: Caller, input: unknown, right: unknown, resource: unknown, args: unknown = {}): Promise<Decision> {
    const question = await this.questionParser.parse(parseId(input, 'pid'), right, resource, args);
    const { pid } = question;
    const call: Call = { caller, actor: pid, action: 'capability.require', target: pid };
    return this.units.commit(call, async (tx, act) => {
      const { decision, capability, generation, approval, counted } = await this.authorizer.authorize(
        tx,
        act,
        question,
      );
      this.recorder.recordAudit(tx, {
        ...act,
        action: call.action,
        outcome: 'ok',
        target: pid,
        generation,
        right: question.right,
        decision: decision.effect,
        code: decision.code,
        capability,
        approval,
        resource: question.request.text,
        ...(counted === 0 ? {} : { facts: { claimed: counted } }),
      });
      return decision;
    });
  }
}

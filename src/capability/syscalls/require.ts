import { inject, injectable } from 'inversify';
import { Ledger } from '../../audit/writing/ledger.js';
import type { Caller } from '../../unit/act.js';
import { Warrants } from '../decision/authorizer.js';
import type { Decision } from '../decision/decision.js';
import { Questions } from '../decision/questions.js';
import { named } from '../named.js';
import { RecordedUnits } from '../recorded-units.js';

@injectable()
export class Require {
  constructor(
    @inject(RecordedUnits) private readonly units: RecordedUnits,
    @inject(Questions) private readonly questions: Questions,
    @inject(Warrants) private readonly warrants: Warrants,
    @inject(Ledger) private readonly ledger: Ledger,
  ) {}

  /**
   * Decides in a unit of its own, takes a use and an approval, and is on record. Throws CAPABILITY_REVOKED or
   * CAPABILITY_EXPIRED where that alone was missing, otherwise CAPABILITY_DENIED; INVALID_INPUT for a bad request; where
   * a rule asks, APPROVAL_PENDING on the host's face, and APPROVAL_DENIED.
   */
  async run(caller: Caller, input: unknown, right: unknown, resource: unknown, args: unknown = {}): Promise<Decision> {
    const question = await this.questions.of(named(input, 'pid'), right, resource, args);
    const { pid } = question;
    const call = { caller, actor: pid, action: 'capability.require', target: pid };
    return this.units.commit(call, async (tx, act) => {
      const { decision, capability, generation, approval, counted } = await this.warrants.take(tx, act, question);
      this.ledger.append(tx, {
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

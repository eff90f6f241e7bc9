import { inject, injectable } from 'inversify';
import { Ledger } from '../../audit/ledger.js';
import { CapabilityError } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';
import type { WriteTx } from '../../base/store.js';
import { type Act, type Caller, hostFace } from '../act.js';
import { allows, type Decision, type Explanation } from '../decision.js';
import { Evaluator } from '../evaluator.js';
import { Holders } from '../holders.js';
import { named } from '../named.js';
import { RecordedUnits } from '../recorded-units.js';
import { Uses } from '../uses.js';
import { explanation, parseQuestion } from './explain.js';

@injectable()
export class Require {
  constructor(
    @inject(RecordedUnits) private readonly units: RecordedUnits,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(Holders) private readonly holders: Holders,
    @inject(Uses) private readonly uses: Uses,
    @inject(Ledger) private readonly ledger: Ledger,
  ) {}

  /**
   * Decides in a unit of its own, takes a use and is on record. Throws CAPABILITY_REVOKED or CAPABILITY_EXPIRED where
   * that alone was missing, otherwise CAPABILITY_DENIED; INVALID_INPUT for a bad request.
   */
  async run(input: unknown, right: unknown, resource: unknown, args: unknown = {}): Promise<Decision> {
    const question = parseQuestion(named(input, 'pid'), right, resource, args);
    const { pid } = question;
    const call = { caller: hostFace, actor: pid, action: 'capability.require', target: pid };
    return this.units.commit(call, async (tx, act) => {
      const verdict = await this.evaluator.decide(tx, question, act.at);
      const told = explanation(call.caller, question, verdict);
      const { code, capability, hint } = told;
      if (!allows(code) || capability === undefined) throw denial(call.caller, told);
      const claimed = verdict.record === undefined ? 0 : await this.uses.claim(tx, verdict.record, act.at);
      await this.record(tx, act, told, claimed);
      return { effect: 'allow', code, capability, reason: hint };
    });
  }

  private async record(tx: WriteTx, act: Act, told: Explanation, claimed: number): Promise<void> {
    const { generation } = await this.holders.any(tx, told.pid);
    this.ledger.append(tx, {
      ...act,
      action: 'capability.require',
      outcome: 'ok',
      target: told.pid,
      generation,
      right: told.right,
      decision: told.effect,
      code: told.code,
      capability: told.capability,
      resource: told.resource,
      ...(claimed === 0 ? {} : { facts: { claimed } }),
    });
  }
}

/** The refusal that a decision amounts to. */
function denial(caller: Caller, told: Explanation): CapabilityError {
  const { pid, right, resource, code, nearest, denies, hint } = told;
  const facts: JsonObject = {
    pid,
    right,
    resource,
    code,
    nearest: nearest.map((miss) => ({ ...miss })),
    ...(caller.face === 'host' ? { denies: [...denies] } : {}),
  };
  const message = `Process ${pid} may not ${right} ${resource}.`;
  if (code === 'REVOKED') return new CapabilityError('CAPABILITY_REVOKED', message, { facts, hint });
  if (code === 'EXPIRED') return new CapabilityError('CAPABILITY_EXPIRED', message, { facts, hint });
  return new CapabilityError('CAPABILITY_DENIED', message, { facts, hint });
}

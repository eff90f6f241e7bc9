import fc from 'fast-check';

/**
 * Worlds as small numbers, which shrink towards none of everything: `buildWorld` says what they stand for. A zero is
 * always the plain choice: a root, a live row, no limit.
 */
export interface WorldPlan {
  readonly kinds: readonly number[];
  readonly processes: readonly ProcessPlan[];
  readonly capabilities: readonly CapabilityPlan[];
  readonly rules: readonly RulePlan[];
  readonly approvals: readonly ApprovalPlan[];
  readonly questions: readonly number[];
}

const processPlan = fc.record({
  bornUnder: fc.nat(9),
  moved: fc.nat(7),
  ended: fc.nat(11),
  generation: fc.nat(2),
  since: fc.nat(2),
});
export type ProcessPlan = Plan<typeof processPlan>;

const capabilityPlan = fc.record({
  holder: fc.nat(15),
  generation: fc.nat(5),
  own: fc.nat(15),
  kind: fc.nat(1),
  pattern: fc.nat(999),
  rights: fc.nat(1023),
  constraints: fc.nat(15),
  uses: fc.nat(9),
  until: fc.nat(9),
  above: fc.nat(31),
  revoked: fc.nat(9),
  name: fc.nat(9),
  place: fc.nat(99),
});
export type CapabilityPlan = Plan<typeof capabilityPlan>;

const rulePlan = fc.record({
  effect: fc.nat(3),
  on: fc.nat(15),
  kind: fc.nat(1),
  pattern: fc.nat(999),
  rights: fc.nat(1023),
  args: fc.nat(15),
  until: fc.nat(9),
  place: fc.nat(99),
});
export type RulePlan = Plan<typeof rulePlan>;

const approvalPlan = fc.record({
  question: fc.nat(999),
  decision: fc.nat(5),
  scope: fc.nat(2),
  by: fc.nat(3),
  gone: fc.nat(7),
  place: fc.nat(99),
});
export type ApprovalPlan = Plan<typeof approvalPlan>;

/** Plans with so many questions each. */
export function worldPlans(questions: number): fc.Arbitrary<WorldPlan> {
  return fc.record({
    kinds: fc.tuple(fc.nat(17), fc.nat(31)),
    processes: several(processPlan, 2, 6),
    capabilities: several(capabilityPlan, 0, 30),
    rules: several(rulePlan, 0, 6),
    approvals: several(approvalPlan, 0, 6),
    // A question is one number: the share of them is too large to draw each of its parts.
    questions: fc.array(fc.nat(0x7fffffff), { minLength: questions, maxLength: questions, size: 'max' }),
  });
}

type Plan<Arbitrary> = Arbitrary extends fc.Arbitrary<infer Value> ? Value : never;

function several<T>(one: fc.Arbitrary<T>, minLength: number, maxLength: number): fc.Arbitrary<T[]> {
  return fc.array(one, { minLength, maxLength, size: 'max' });
}

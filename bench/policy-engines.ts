import { createMongoAbility, subject } from '@casl/ability';
import { newEnforcer, newModel, StringAdapter } from 'casbin';

/** Leave to call a tool; where `to` is given, only with one of these as the argument `to`. */
interface ToolGrant {
  readonly tool: string;
  readonly to?: readonly string[];
}

interface ToolCall {
  readonly tool: string;
  readonly to: string;
}

/** What every engine is loaded with, in this order: every other one looks at an argument. */
export function toolGrant(at: number): ToolGrant {
  return { tool: `team/t${at}`, ...(at % 2 === 0 ? {} : { to: ['ops@example.com', 'team@example.com'] }) };
}

export const toolCalls = {
  allowed: (at: number): ToolCall => ({ tool: `team/t${at}`, to: 'team@example.com' }),
  denied: (at: number): ToolCall => ({ tool: `team/u${at}`, to: 'team@example.com' }),
};

/** Something that decides whether one agent may make a call, by the grants that it was loaded with. */
export interface PolicyEngine<T> {
  /** Builds what the question needs; what it returns makes the decision and nothing else. */
  prepare(call: ToolCall): () => Promise<T> | T;
  /** What an answer amounts to: `allowed`, `denied` for want of a grant, or something else. */
  toText(answer: T): string;
}

const toText = (answer: boolean) => (answer ? 'allowed' : 'denied');

const model = `
[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj, act
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.sub == p.sub && r.obj == p.obj && r.act == p.act
`;

/** casbin, in memory, comparing for plain equality, which is the least that it can do; it does not look at `to`. */
export async function casbinEngine(held: number): Promise<PolicyEngine<boolean>> {
  const policy = Array.from({ length: held }, (_, at) => `p, agent, ${toolGrant(at).tool}, call`).join('\n');
  const enforcer = await newEnforcer(newModel(model), new StringAdapter(policy));
  return {
    prepare({ tool }) {
      return () => enforcer.enforce('agent', tool, 'call');
    },
    toText: toText,
  };
}

/** CASL, where each grant is a rule with conditions on one type of subject. */
export function caslEngine(held: number): PolicyEngine<boolean> {
  const rules = Array.from({ length: held }, (_, at) => {
    const { tool, to } = toolGrant(at);
    return { action: 'call', subject: 'Tool', conditions: { tool, ...(to === undefined ? {} : { to: { $in: to } }) } };
  });
  const ability = createMongoAbility(rules);
  return {
    prepare(call) {
      const toolSubject = subject('Tool', { ...call });
      return () => ability.can('call', toolSubject);
    },
    toText: toText,
  };
}

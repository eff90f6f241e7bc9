import { createMongoAbility, subject } from '@casl/ability';
import { newEnforcer, newModel, StringAdapter } from 'casbin';

/** Permission to call a tool; where `to` is given, only with one of these as the argument `to`. */
interface ToolGrant {
  readonly tool: string;
  readonly to?: readonly string[];
}

interface ToolCall {
  readonly tool: string;
  readonly to: string;
}

/** The grant at an index, the same for every engine. Every other grant constrains an argument. */
export function toolGrant(at: number): ToolGrant {
  return { tool: `team/t${at}`, ...(at % 2 === 0 ? {} : { to: ['ops@example.com', 'team@example.com'] }) };
}

export const toolCalls = {
  allowed: (at: number): ToolCall => ({ tool: `team/t${at}`, to: 'team@example.com' }),
  denied: (at: number): ToolCall => ({ tool: `team/u${at}`, to: 'team@example.com' }),
};

/** Decides whether an agent may make a call, by the grants that it was loaded with. */
export interface PolicyEngine<T> {
  /** Prepares a question. The returned function only decides, so that nothing else is measured. */
  prepare(call: ToolCall): () => Promise<T> | T;
  /** The answer as text: `allowed`, `denied` for lack of a grant, or something else. */
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

/** casbin in memory with plain equality, its cheapest matcher; it ignores `to`. */
export async function casbinEngine(held: number): Promise<PolicyEngine<boolean>> {
  const policy = Array.from({ length: held }, (_, at) => `p, agent, ${toolGrant(at).tool}, call`).join('\n');
  const enforcer = await newEnforcer(newModel(model), new StringAdapter(policy));
  return {
    prepare({ tool }) {
      return () => enforcer.enforce('agent', tool, 'call');
    },
    toText,
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
    toText,
  };
}

import type { Explanation, JsonValue, Right } from '../../../index.js';
import { chainLine, rulesNamed } from '../../authority-text.js';
import { type CommonOptions, reading } from '../../open-store.js';
import { paint, writeJson, writeLine } from '../../output.js';
import { findPid } from '../../pids.js';
import { safeText } from '../../safe-text.js';

interface ExplainOptions extends CommonOptions {
  readonly args?: JsonValue;
}

const verdicts: Record<Explanation['effect'], string> = {
  allow: paint.green('may'),
  ask: paint.yellow('must ask a person before it may'),
  deny: paint.red('may not'),
};

/** Says whether a process may do something, by which capability, and what would mend a no. */
export async function explain(given: string, right: string, resource: string, options: ExplainOptions): Promise<void> {
  const { explanation, rules } = await reading(options, async (kernel) => {
    const pid = await findPid(kernel, given);
    // A text that is no right is answered with BAD_REQUEST.
    const explanation = await kernel.capabilities.explain(pid, right as Right, resource, options.args);
    return { explanation, rules: await rulesNamed(kernel, [...explanation.denies, ...explanation.asks]) };
  });
  if (options.json === true) return writeJson(explanation);
  for (const line of told(explanation, rules)) await writeLine(line);
}

function told(explanation: Explanation, rules: readonly string[]): string[] {
  const { effect, code, pid, right, resource, chain = [], nearest, asks } = explanation;
  return [
    `${safeText(pid, 100)} ${verdicts[effect]} ${safeText(right, 40)} ${safeText(resource)} (${code})`,
    ...chain.map((capability) => paint.dim(`  ${chainLine(capability)}`)),
    ...nearest.map(({ capability, pattern, failed }) =>
      paint.dim(`  near: ${safeText(capability, 60)} on ${safeText(pattern, 80)} fails at ${safeText(failed)}`),
    ),
    ...rules.map((rule) => paint.dim(`  rule: ${rule}`)),
    ...(effect === 'allow' && asks.length > 0 ? [paint.dim('  a person has approved it')] : []),
    mending(explanation),
  ];
}

/** What to do about it; where this command can do it, in its own words. */
function mending({ code, pid, denies, hint }: Explanation): string {
  if (code === 'ASK') return `See what it waits for, and answer: procura approvals --pid ${safeText(pid, 512)}`;
  const lifts = denies.map((rule) => `procura lift ${rule}`).join(', ');
  return safeText(code === 'DENY_RULE' ? `Lift what forbids it: ${lifts}` : hint, 500);
}

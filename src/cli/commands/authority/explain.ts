import type { Explanation, JsonValue, Right } from '../../../index.js';
import { chainLine, describeRules } from '../../authority-text.js';
import { type CommonOptions, withReadOnlyStore } from '../../open-store.js';
import { paint, writeJson, writeLine } from '../../output.js';
import { findPid } from '../../pids.js';
import { safeText } from '../../safe-text.js';

interface ExplainOptions extends CommonOptions {
  readonly args?: JsonValue;
}

const effectTexts: Record<Explanation['effect'], string> = {
  allow: paint.green('may'),
  ask: paint.yellow('must ask a person before it may'),
  deny: paint.red('may not'),
};

/** Shows whether a process may do something, by which capability or rule, and the remedy for a denial. */
export async function explain(
  pidOrSuffix: string,
  right: string,
  resource: string,
  options: ExplainOptions,
): Promise<void> {
  const { explanation, rules } = await withReadOnlyStore(options, async (kernel) => {
    const pid = await findPid(kernel, pidOrSuffix);
    // The kernel answers BAD_REQUEST for a text that is not a right.
    const explanation = await kernel.capabilities.explain(pid, right as Right, resource, options.args);
    return { explanation, rules: await describeRules(kernel, [...explanation.denies, ...explanation.asks]) };
  });
  if (options.json === true) return writeJson(explanation);
  for (const line of formatExplanation(explanation, rules)) await writeLine(line);
}

function formatExplanation(explanation: Explanation, rules: readonly string[]): string[] {
  const { effect, code, pid, right, resource, chain = [], nearest, asks } = explanation;
  return [
    `${safeText(pid, 100)} ${effectTexts[effect]} ${safeText(right, 40)} ${safeText(resource)} (${code})`,
    ...chain.map((capability) => paint.dim(`  ${chainLine(capability)}`)),
    ...nearest.map(({ capability, pattern, failed }) =>
      paint.dim(`  near: ${safeText(capability, 60)} on ${safeText(pattern, 80)} fails at ${safeText(failed)}`),
    ),
    ...rules.map((rule) => paint.dim(`  rule: ${rule}`)),
    ...(effect === 'allow' && asks.length > 0 ? [paint.dim('  a person has approved it')] : []),
    remedyText(explanation),
  ];
}

/** The remedy, as a command of this program where there is one. */
function remedyText({ code, pid, denies, hint }: Explanation): string {
  if (code === 'ASK') return `See what it waits for, and answer: procura approvals --pid ${safeText(pid, 512)}`;
  const lifts = denies.map((rule) => `procura lift ${rule}`).join(', ');
  return safeText(code === 'DENY_RULE' ? `Lift what forbids it: ${lifts}` : hint, 500);
}

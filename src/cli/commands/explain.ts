import type { Explanation, JsonValue, Right } from '../../index.js';
import { type CommonOptions, reading } from '../open-store.js';
import { paint, writeJson, writeLine } from '../output.js';
import { findPid } from '../pids.js';
import { safeText } from '../safe-text.js';

interface ExplainOptions extends CommonOptions {
  readonly args?: JsonValue;
}

/** Says whether a process may do something, by which capability, and what would mend a no. */
export async function explain(given: string, right: string, resource: string, options: ExplainOptions): Promise<void> {
  const explanation = await reading(options, async (kernel) => {
    const pid = await findPid(kernel, given);
    // A text that is no right is answered with BAD_REQUEST.
    return kernel.capabilities.explain(pid, right as Right, resource, options.args);
  });
  if (options.json === true) return writeJson(explanation);
  for (const line of told(explanation)) await writeLine(line);
}

function told({ effect, code, pid, right, resource, chain = [], nearest, denies, hint }: Explanation): string[] {
  const verdict = effect === 'allow' ? paint.green('may') : paint.red('may not');
  return [
    `${safeText(pid, 100)} ${verdict} ${safeText(right, 40)} ${safeText(resource)} (${code})`,
    ...chain.map(({ id, holder, resource: pattern, grantedBy }) =>
      paint.dim(
        `  by ${safeText(id, 60)} on ${safeText(pattern, 80)}, held by ${safeText(holder, 60)}, from ${safeText(grantedBy, 60)}`,
      ),
    ),
    ...nearest.map(({ capability, pattern, failed }) =>
      paint.dim(`  near: ${safeText(capability, 60)} on ${safeText(pattern, 80)} fails at ${safeText(failed)}`),
    ),
    ...denies.map((rule) => paint.dim(`  forbidden by rule ${safeText(rule, 60)}`)),
    safeText(hint, 500),
  ];
}

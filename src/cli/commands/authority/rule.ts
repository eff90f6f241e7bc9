import type { Right } from '../../../index.js';
import { ruleText } from '../../authority-text.js';
import { type CommonOptions, writing } from '../../open-store.js';
import { writeJson, writeLine } from '../../output.js';
import { findBound, fullName } from '../../pids.js';

interface RuleOptions extends CommonOptions {
  readonly reason?: string;
  /** In milliseconds. */
  readonly expiresIn?: number;
}

/** Sets a rule that forbids something, or wants a person to be asked about it. */
export async function setRule(
  effect: 'deny' | 'ask',
  given: string,
  resource: string,
  rights: readonly string[],
  options: RuleOptions,
): Promise<void> {
  await writing(
    options,
    (kernel) => findBound(kernel, given),
    async ({ capabilities }, bound) => {
      const { reason, expiresIn } = options;
      const rule = await capabilities[effect](bound, {
        resource,
        // The kernel itself says which rights a resource knows.
        rights: rights as readonly Right[],
        ...(reason === undefined ? {} : { reason }),
        ...(expiresIn === undefined ? {} : { expiresAt: Date.now() + expiresIn }),
      });
      if (options.json === true) return writeJson(rule);
      await writeLine(`${fullName(rule.id)} set: ${ruleText(rule)}`);
    },
  );
}

import type { Right } from '../../../index.js';
import { ruleText } from '../../authority-text.js';
import { type CommonOptions, withWritableStore } from '../../open-store.js';
import { writeJson, writeLine } from '../../output.js';
import { findRuleTarget, fullName } from '../../pids.js';

interface RuleOptions extends CommonOptions {
  readonly id?: string;
  readonly reason?: string;
  /** In milliseconds. */
  readonly expiresIn?: number;
  /** In milliseconds. */
  readonly answerWithin?: number;
}

/** Sets a deny rule or an ask rule. */
export async function setRule(
  effect: 'deny' | 'ask',
  pidOrSuffix: string,
  resource: string,
  rights: readonly string[],
  options: RuleOptions,
): Promise<void> {
  await withWritableStore(
    options,
    (kernel) => findRuleTarget(kernel, pidOrSuffix),
    async ({ capabilities }, target) => {
      const { id, reason, expiresIn, answerWithin } = options;
      const rule = await capabilities[effect](target, {
        ...(id === undefined ? {} : { id }),
        resource,
        // The kernel validates the rights.
        rights: rights as readonly Right[],
        ...(reason === undefined ? {} : { reason }),
        ...(expiresIn === undefined ? {} : { expiresAt: Date.now() + expiresIn }),
        ...(answerWithin === undefined ? {} : { expiresInMs: answerWithin }),
      });
      if (options.json === true) return writeJson(rule);
      await writeLine(`${fullName(rule.id)} set: ${ruleText(rule)}`);
    },
  );
}

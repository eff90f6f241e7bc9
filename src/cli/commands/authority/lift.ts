import { ruleText } from '../../authority-text.js';
import { findRule } from '../../ids.js';
import { type CommonOptions, writing } from '../../open-store.js';
import { writeJson, writeLine } from '../../output.js';
import { fullName } from '../../pids.js';

interface LiftOptions extends CommonOptions {
  readonly reason?: string;
}

/** Ends a rule, and tells which it was. */
export async function lift(given: string, options: LiftOptions): Promise<void> {
  await writing(
    options,
    (kernel) => findRule(kernel, given),
    async ({ capabilities }, rule) => {
      const { reason } = options;
      await capabilities.lift(rule.id, reason === undefined ? {} : { reason });
      if (options.json === true) return writeJson(rule);
      await writeLine(`${fullName(rule.id)} lifted: ${ruleText(rule)}`);
    },
  );
}

import { ruleText } from '../../authority-text.js';
import { findRule } from '../../ids.js';
import { type CommonOptions, withWritableStore } from '../../open-store.js';
import { writeJson, writeLine } from '../../output.js';
import { fullName } from '../../pids.js';

interface LiftOptions extends CommonOptions {
  readonly reason?: string;
}

/** Ends a rule and prints it. */
export async function lift(idOrSuffix: string, options: LiftOptions): Promise<void> {
  await withWritableStore(
    options,
    (kernel) => findRule(kernel, idOrSuffix),
    async ({ capabilities }, rule) => {
      const { reason } = options;
      await capabilities.lift(rule.id, reason === undefined ? {} : { reason });
      if (options.json === true) return writeJson(rule);
      await writeLine(`${fullName(rule.id)} lifted: ${ruleText(rule)}`);
    },
  );
}

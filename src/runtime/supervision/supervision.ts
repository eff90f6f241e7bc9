import { z } from 'zod';
import type { JsonObject, JsonValue } from '../../base/json.js';
import { amount, label, parseSpec } from '../../base/spec.js';
import type { DelegationSpec } from '../../capability/holding/capability.js';
import { parseDelegationSpec } from '../../capability/holding/capability-spec.js';
import type { Budget } from '../../kernel/budget/budget.js';
import { childSpec } from '../../kernel/specs.js';
import { retryPolicy } from '../step/retry.js';

/** Which children are started again when one of them has to be: that one, all, or that one and those after it. */
export type RestartStrategy = 'one_for_one' | 'one_for_all' | 'rest_for_one';

/** When a child is started again: always, when it did not exit, or never. */
export type RestartRule = 'permanent' | 'transient' | 'temporary';

/** A child of a supervisor. Whenever it is started it is a new process with this spec. */
export interface SupervisedChild {
  /** Unique within the supervisor, and the name of its processes. */
  readonly name: string;
  readonly image: string;
  readonly args?: JsonValue;
  readonly goal?: string | JsonObject;
  /** Drawn from what the supervisor holds and may hand on. */
  readonly delegate?: readonly DelegationSpec[];
  readonly budget?: Partial<Budget>;
  readonly restart: RestartRule;
  /** How long it may take to end when it is stopped, before it is killed; default 5,000. */
  readonly shutdownMs?: number;
}

export interface Supervision {
  readonly strategy: RestartStrategy;
  /** How many restarts are allowed within `periodMs`; the next failure fails the supervisor. */
  readonly intensity: number;
  readonly periodMs: number;
  /** How long to wait before a restart: longer with each one within the period. Absent: not at all. */
  readonly backoff?: { readonly baseMs?: number; readonly factor?: number; readonly maxMs?: number };
  /** Started left to right, stopped right to left. */
  readonly children: readonly SupervisedChild[];
}

const { image, args, goal, delegate, budget } = childSpec.shape;
const { baseMs, factor, maxMs } = retryPolicy.shape;

const supervision = z.strictObject({
  strategy: z.enum(['one_for_one', 'one_for_all', 'rest_for_one']),
  intensity: amount.max(10_000),
  periodMs: amount.min(1),
  backoff: z.strictObject({ baseMs, factor, maxMs }).optional(),
  children: z
    .array(
      z.strictObject({
        name: label,
        image: image.unwrap(),
        args,
        goal,
        delegate,
        budget,
        restart: z.enum(['permanent', 'transient', 'temporary']),
        shutdownMs: amount.optional(),
      }),
    )
    .min(1, 'has no child')
    .max(1_000)
    .superRefine((children, context) => {
      const names = children.map(({ name }) => name);
      const index = names.findIndex((name, at) => names.indexOf(name) < at);
      if (index >= 0)
        context.addIssue({ code: 'custom', path: [index, 'name'], message: 'is the name of another child' });
    }),
});

/** A plan that can be carried out, as far as that can be known before it is. Throws INVALID_INPUT. */
export function parseSupervision(given: unknown, path: string): Supervision {
  const parsed = parseSpec(supervision, given, path);
  for (const [index, { delegate }] of parsed.children.entries()) {
    for (const [at, one] of delegate.entries()) parseDelegationSpec(one, `${path}.children.${index}.delegate.${at}`);
  }
  // Plain data has no member that is undefined.
  return parsed as Supervision;
}

import { z } from 'zod';
import type { JsonObject, JsonValue } from '../../base/json.js';
import { amount, label, parseSpec } from '../../base/spec.js';
import type { DelegationSpec, Resources } from '../../capability/holding/capability.js';
import { parseDelegationSpecs } from '../../capability/holding/capability-spec.js';
import type { Budget } from '../../kernel/budget/budget.js';
import { childSpec } from '../../kernel/specs.js';
import { retryPolicy } from '../step/retry.js';

/** The children that are restarted when one of them is: that one, all, or that one and those after it. */
export type RestartStrategy = 'one_for_one' | 'one_for_all' | 'rest_for_one';

/** The ends after which a child is restarted: all, all but `exited`, or none. */
export type RestartRule = 'permanent' | 'transient' | 'temporary';

/** A child of a supervisor. Every start is a new process with this spec. */
export interface SupervisedChild {
  /** Unique within the supervisor, and the name of its processes. */
  readonly name: string;
  readonly image: string;
  readonly args?: JsonValue;
  readonly goal?: string | JsonObject;
  /** Derived from capabilities that the supervisor holds and may delegate. */
  readonly delegate?: readonly DelegationSpec<Resources>[];
  /** Limits on what it and everything under it use. */
  readonly budget?: Partial<Budget>;
  /** The queue that nodes claim its processes from. Default: that of the supervisor. */
  readonly queue?: string;
  /** After which ends it is restarted. */
  readonly restart: RestartRule;
  /** The grace when it is stopped; then it is killed. Default 5,000. */
  readonly shutdownMs?: number;
}

/** The children of a supervisor, and when they are restarted. */
export interface Supervision {
  /** Which children are restarted together. */
  readonly strategy: RestartStrategy;
  /** The number of restarts allowed within `periodMs`; one more fails the supervisor. */
  readonly intensity: number;
  /** The period of `intensity`. */
  readonly periodMs: number;
  /** The delay before a restart, which grows with each one within the period. Absent: none. */
  readonly backoff?: { readonly baseMs?: number; readonly factor?: number; readonly maxMs?: number };
  /** Started left to right, stopped right to left. */
  readonly children: readonly SupervisedChild[];
}

const { image, args, goal, delegate, budget, queue } = childSpec.shape;
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
        queue,
        restart: z.enum(['permanent', 'transient', 'temporary']),
        shutdownMs: amount.optional(),
      }),
    )
    .min(1, 'has no child')
    .max(1_000)
    .superRefine((children, context) => {
      const names = children.map(({ name }) => name);
      const index = names.findIndex((name, position) => names.indexOf(name) < position);
      if (index >= 0)
        context.addIssue({ code: 'custom', path: [index, 'name'], message: 'is the name of another child' });
    }),
});

/** Throws INVALID_INPUT. Whether images exist and capabilities can be delegated is only known when a child is started. */
export function parseSupervision(value: unknown, path: string): Supervision {
  const parsed = parseSpec(supervision, value, path);
  for (const [index, { delegate }] of parsed.children.entries()) {
    for (const [position, spec] of delegate.entries())
      parseDelegationSpecs(spec, `${path}.children.${index}.delegate.${position}`);
  }
  // The parser copies plain data, in which no member is undefined.
  return parsed as Supervision;
}

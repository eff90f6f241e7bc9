import { z } from 'zod';
import type { JsonValue } from '../../base/json.js';
import { label } from '../../base/spec.js';
import type { Syscalls } from '../run/body-syscalls.js';
import { type StepOptions, stepOptions } from './steps.js';

/** One step of an image. Its state is the result of the step before it. None begins while the process is being stopped. */
export interface StepSpec extends Omit<StepOptions, 'cleanup'> {
  /** Unique within the image. */
  readonly name: string;
  /** The work of the step. What it returns is journalled, and is the state of the next step. */
  run(ctx: Syscalls, state: JsonValue): JsonValue | Promise<JsonValue>;
}

export const stepList = z
  .array(
    stepOptions.omit({ cleanup: true }).extend({
      name: label,
      run: z.custom<StepSpec['run']>((value) => typeof value === 'function', 'is not a function'),
    }),
  )
  .min(1, 'has no step')
  .superRefine((steps, context) => {
    const names = steps.map(({ name }) => name);
    const index = names.findIndex((name, position) => names.indexOf(name) < position);
    if (index >= 0) context.addIssue({ code: 'custom', path: [index, 'name'], message: 'is the name of another step' });
  });
export type StepList = z.output<typeof stepList>;

/** Runs the steps in order: the arguments are the first state, and the last state is the result. */
export async function runSteps(ctx: Syscalls, steps: StepList): Promise<JsonValue> {
  let state = ctx.args;
  for (const [index, step] of steps.entries()) state = await runStep(ctx, step, state, index, steps.length);
  return state;
}

async function runStep(
  ctx: Syscalls,
  { name, run, ...options }: StepList[number],
  state: JsonValue,
  done: number,
  total: number,
): Promise<JsonValue> {
  let isReplayed = true;
  const next = await ctx.step(
    name,
    () => {
      isReplayed = false;
      ctx.progress(done, total, name);
      // A copy: an attempt may change its state, and the next attempt or a rerun begins with the original.
      return run(ctx, structuredClone(state));
    },
    options,
  );
  if (!isReplayed) ctx.progress(done + 1, total, name);
  return next;
}

import type { JsonValue } from '../../base/json.js';
import type { Schema, SchemaInput, SchemaOutput } from '../../base/schema/schema-types.js';
import type { Syscalls } from '../run/body-syscalls.js';
import type { StepSpec } from '../step/step-list.js';
import type { Image, ImageSpec } from './image.js';

/** The spec of an image that is a list of steps. */
export interface StepsSpec extends Omit<ImageSpec, 'run'> {
  /** The steps, in order; their names differ. */
  readonly steps: readonly StepSpec[];
}

/** The options of an image of steps besides its name and its steps. */
export type StepsOptions = Omit<StepsSpec, 'name' | 'steps'>;

/** The options of one step. */
export type StepSettings = Omit<StepSpec, 'name' | 'run'>;

/** An image of steps that has none yet: it can be used once it has one. */
export interface FirstStep<Input, Args = Input> {
  /** An image with this step, which gets the arguments of the process. */
  step<Next>(
    name: string,
    run: (ctx: Syscalls, args: Input) => Next | Promise<Next>,
    options?: StepSettings,
  ): TypedSteps<Input, Next, Args>;
}

/** An image of steps whose last one returns `State`: the type of the results, until another step is added. */
export interface TypedSteps<Input, State, Args = Input> extends Image<Input, State, Args> {
  /** A new image with one step more, which gets what the last one returned. */
  step<Next>(
    name: string,
    run: (ctx: Syscalls, state: State) => Next | Promise<Next>,
    options?: StepSettings,
  ): TypedSteps<Input, Next, Args>;
}

/**
 * An image that is a list of named durable steps. The arguments are the first state, the result of a step is the next one,
 * and the last is the result of the process. A completed step never runs again; a pause takes effect between two steps.
 *
 * @example
 * const report = defineSteps('report', { input: z.object({ topic: z.string() }) })
 *   .step('collect', async (ctx, { topic }) => collect(topic))
 *   .step('write', async (ctx, sources) => write(sources), { retry: { attempts: 3 } });
 */
export function defineSteps<const In extends Schema>(
  name: string,
  options: StepsOptions & { readonly input: In },
): FirstStep<SchemaOutput<In>, SchemaInput<In>>;
/** Without an input schema arguments are not validated. */
export function defineSteps<Input = JsonValue>(
  name: string,
  options?: StepsOptions & { readonly input?: never },
): FirstStep<Input>;
/** The same list as one object, whose states are not typed. */
export function defineSteps(spec: StepsSpec): Image<JsonValue, JsonValue>;
export function defineSteps(given: StepsSpec | string, options: StepsOptions = {}): object {
  if (typeof given === 'string') return new StepsImage({ ...options, name: given, steps: [] });
  return { version: '1', requires: [], recovery: 'rerun', ...given, kind: 'steps' };
}

/** An image of steps to which more can be added. It never changes: each step makes a new one. */
class StepsImage {
  readonly kind = 'steps';
  declare readonly steps: readonly StepSpec[];

  constructor(spec: StepsSpec) {
    Object.assign(this, { version: '1', requires: [], recovery: 'rerun' }, spec);
  }

  step(name: string, run: (ctx: Syscalls, state: never) => unknown, options: StepSettings = {}): StepsImage {
    const { kind: _kind, ...spec } = this as object as StepsSpec & Pick<StepsImage, 'kind'>;
    return new StepsImage({ ...spec, steps: [...this.steps, { ...options, name, run } as StepSpec] });
  }
}

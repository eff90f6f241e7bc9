import type { Image, ImageSpec } from '../image/image.js';
import type { StepSpec } from './step-list.js';

export interface StepsSpec extends Omit<ImageSpec, 'run'> {
  readonly steps: readonly StepSpec[];
}

/**
 * An image that is a list of named durable steps. The arguments are the first state, what a step gives is the next one, and
 * the last is the result. A step that is completed never runs again; a pause takes effect between two steps.
 *
 * @example
 * const report = defineSteps({
 *   name: 'report',
 *   steps: [
 *     { name: 'collect', run: async (ctx, { topic }) => collect(topic) },
 *     { name: 'write', run: async (ctx, sources) => write(sources), retry: { attempts: 3 } },
 *   ],
 * });
 */
export function defineSteps(spec: StepsSpec): Image {
  return { version: '1', requires: [], recovery: 'rerun', ...spec, kind: 'steps' };
}

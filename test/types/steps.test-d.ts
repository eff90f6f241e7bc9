import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { defineSteps, type Image, type JsonValue, type Kernel } from '../../src/index.js';

declare const kernel: Kernel;

const report = defineSteps('report', { input: z.object({ topic: z.string() }) })
  .step('collect', async (_ctx, { topic }) => [topic])
  .step('count', (_ctx, sources) => ({ sources: sources.length }), { retry: { attempts: 3 } });

describe('an image of steps', () => {
  it('types the state of each step by the one before, and its result by the last', () => {
    report satisfies Image<{ topic: string }, { sources: number }>;
    expectTypeOf(kernel.run(report, { topic: 'x' })).resolves.toEqualTypeOf<{ sources: number }>();
    defineSteps('plain').step('first', (_ctx, args) => args) satisfies Image<JsonValue, JsonValue>;
    defineSteps({ name: 'list', steps: [{ name: 'a', run: () => 1 }] }) satisfies Image;
  });

  it('refuses a state of another type, wrong arguments, and an image without a step', () => {
    // @ts-expect-error sources is a number
    report.step('next', (_ctx, { sources }: { sources: string }) => sources);
    // @ts-expect-error topic is a string
    kernel.run(report, { topic: 1 });
    // @ts-expect-error it has no step yet
    kernel.images.register(defineSteps('empty'));
  });
});

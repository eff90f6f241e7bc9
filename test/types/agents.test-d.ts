import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import type { JsonValue, Kernel, Syscalls } from '../../src/index.js';
import { type AgentModel, type AgentResult, agentImage, governedModel } from '../../src/integrations/ai-sdk/index.js';
import { scriptedModel } from '../../src/testing/index.js';

declare const kernel: Kernel;
declare const ctx: Syscalls;
const model = scriptedModel(['Done.']);
const input = z.object({ topic: z.string() });
const output = z.object({ city: z.string() });

test('the result of an agent is that of its schema, or an AgentResult', async () => {
  const plain = agentImage({ name: 'plain', model });
  expectTypeOf(await kernel.run(plain, null)).toEqualTypeOf<AgentResult>();
  const typed = agentImage({ name: 'typed', model, input, output });
  expectTypeOf((await kernel.run(typed, { topic: 'tides' })).city).toEqualTypeOf<string>();
  // @ts-expect-error The schema has no such member.
  void (await kernel.run(typed, { topic: 'tides' })).town;
  // @ts-expect-error The arguments are those of the input schema.
  void kernel.run(typed, { topic: 5 });
});

test('agents without one of the schemas', async () => {
  const asked = agentImage({ name: 'asked', model, input });
  expectTypeOf(await kernel.run(asked, { topic: 'tides' })).toEqualTypeOf<AgentResult>();
  const answering = agentImage({ name: 'answering', model, output });
  expectTypeOf(answering).toExtend<{ readonly name: string }>();
  expectTypeOf((await kernel.run(answering, 'go' as JsonValue)).city).toEqualTypeOf<string>();
  // @ts-expect-error `transparent` is no way to show tools.
  agentImage({ name: 'wrong', model, tools: 'transparent' });
});

test('a governed model is a model', () => {
  expectTypeOf(governedModel(ctx, model)).toEqualTypeOf<AgentModel>();
  // @ts-expect-error It is for a body.
  governedModel(kernel, model);
});

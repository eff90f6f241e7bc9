import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type JsonValue, type ProcessFace, type Syscalls, type Tool } from '../../src/index.js';

declare const face: ProcessFace;
declare const ctx: Syscalls;

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  effect: 'pure',
  input: z.object({ a: z.number(), b: z.number() }),
  run: async ({ a, b }) => a + b,
});
const measured = defineTool({
  name: 'measured',
  description: 'Measures a text.',
  effect: 'pure',
  input: z.object({ text: z.string().default('') }),
  output: z.object({ length: z.string().transform(Number) }),
  cost: (_args, { length }) => ({ tokens: length.length }),
  run: ({ text }) => ({ length: String(text.length) }),
});

describe('a tool', () => {
  it('has the types of its schemas and of what it returns', () => {
    expectTypeOf(add).toEqualTypeOf<Tool<{ a: number; b: number }, number>>();
    expectTypeOf(measured).toEqualTypeOf<Tool<{ text: string }, { length: number }, { text?: string | undefined }>>();
  });

  it('refuses an annotation that its schema does not give, and a result that its output schema does not take', () => {
    const tool = { name: 't', description: 'A tool.', effect: 'pure' } as const;
    // @ts-expect-error a is a number
    defineTool({ ...tool, input: z.object({ a: z.number() }), run: (args: { a: string }) => args.a });
    // @ts-expect-error n is a number
    defineTool({ ...tool, input: {}, output: z.object({ n: z.number() }), run: () => ({ n: 'one' }) });
    // @ts-expect-error a function is not JSON
    defineTool({ ...tool, input: {}, run: () => ({ call: () => 1 }) });
  });
});

describe('a call of a tool', () => {
  it('takes its arguments and answers with its result', () => {
    expectTypeOf(face.tools.call(add, { a: 1, b: 2 })).resolves.toEqualTypeOf<number>();
    expectTypeOf(ctx.tools.call(add, { a: 1, b: 2 }, { timeoutMs: 10 })).resolves.toEqualTypeOf<number>();
    expectTypeOf(ctx.tools.call(measured)).resolves.toEqualTypeOf<{ length: number }>();
  });

  it('by name is not typed', () => {
    expectTypeOf(face.tools.call('add', { a: 1, b: 2 })).resolves.toEqualTypeOf<JsonValue>();
    expectTypeOf(face.tools.call('add')).resolves.toEqualTypeOf<JsonValue>();
  });

  it('refuses wrong and missing arguments', () => {
    // @ts-expect-error b is a number
    face.tools.call(add, { a: 1, b: '2' });
    // @ts-expect-error b is missing
    face.tools.call(add, { a: 1 });
    // @ts-expect-error the arguments are missing
    ctx.tools.call(add);
  });
});

import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { defineImage, type Image, type JsonValue, type Kernel, type Pid, type Syscalls } from '../../src/index.js';

declare const kernel: Kernel;
declare const ctx: Syscalls;
const { processes } = kernel;

interface Report {
  readonly title: string;
  readonly lines?: readonly string[];
}

const square = defineImage({
  name: 'square',
  input: z.object({ n: z.number() }),
  run: async (_ctx, { n }) => ({ square: n * n }),
});
const counted = defineImage({
  name: 'counted',
  input: z.object({ n: z.number().default(1) }),
  output: z.object({ at: z.string().transform((text) => text.length) }),
  run: (_ctx, { n }) => ({ at: String(n) }),
});
const report = defineImage({ name: 'report', run: async (): Promise<Report> => ({ title: 'A title' }) });

const chosen = defineImage({
  name: 'chosen',
  output: z.object({ kind: z.enum(['a', 'b']) }),
  run: async (_ctx) => ({ kind: 'a' }),
});

describe('an image', () => {
  it('has the types of its schemas and of what its body returns', () => {
    expectTypeOf(square).toEqualTypeOf<Image<{ n: number }, { square: number }>>();
    expectTypeOf(counted).toEqualTypeOf<Image<{ n: number }, { at: number }, { n?: number | undefined }>>();
    expectTypeOf(chosen).toEqualTypeOf<Image<JsonValue, { kind: 'a' | 'b' }>>();
    defineImage({ name: 'list', run: () => ['a'] }) satisfies Image<JsonValue, string[]>;
    expectTypeOf(defineImage({ name: 'a', run: (_ctx, args: { a: string }) => args.a })).toEqualTypeOf<
      Image<{ a: string }, string>
    >();
  });

  it('gets its arguments from any schema library, and from the literal of a JSON Schema', () => {
    const valibot = defineImage({ name: 'v', input: v.object({ n: v.number() }), run: (_ctx, { n }) => n });
    const arktype = defineImage({ name: 'a', input: type({ n: 'number' }), run: (_ctx, { n }) => n });
    const json = defineImage({
      name: 'json',
      input: { type: 'object', properties: { n: { type: 'number' }, kind: { enum: ['a', 'b'] } }, required: ['n'] },
      run: (_ctx, { n }) => n,
    });
    const none = defineImage({ name: 'none', run: (_ctx, args) => args });
    expectTypeOf(valibot).toEqualTypeOf<Image<{ n: number }, number>>();
    expectTypeOf(arktype).toEqualTypeOf<Image<{ n: number }, number>>();
    expectTypeOf(json).toEqualTypeOf<Image<{ n: number; kind?: 'a' | 'b' }, number>>();
    expectTypeOf(none).toEqualTypeOf<Image<JsonValue, JsonValue>>();
  });

  it('refuses an annotation that its schema does not give', () => {
    // @ts-expect-error n is a number
    defineImage({ name: 'lie', input: z.object({ n: z.number() }), run: (_ctx, args: { n: string }) => args.n });
    // @ts-expect-error nothing is known of a schema without a type
    defineImage({ name: 'lie', input: { type: 'object' }, run: (_ctx, args: { n: string }) => args.n });
  });

  it('refuses results that its output schema does not take, and results that are not JSON', () => {
    // @ts-expect-error n is a number
    defineImage({ name: 'wrong', output: z.object({ n: z.number() }), run: () => ({ n: 'one' }) });
    const wide = (): { n: number | string } => ({ n: 'one' });
    // @ts-expect-error n may be a string
    defineImage({ name: 'wide', output: z.object({ n: z.number() }), run: wide });
    // @ts-expect-error a date is not JSON
    defineImage({ name: 'date', run: () => ({ at: new Date() }) });
    // @ts-expect-error a function is not JSON
    defineImage({ name: 'function', run: async () => ({ call: () => 1 }) });
  });
});

describe('a spawn', () => {
  it('of an image takes its arguments and remembers its result', () => {
    expectTypeOf(processes.spawn({ image: square, args: { n: 3 } })).resolves.toEqualTypeOf<Pid<{ square: number }>>();
    expectTypeOf(processes.spawnChild('p', { image: counted })).resolves.toEqualTypeOf<Pid<{ at: number }>>();
    expectTypeOf(processes.fork('p', { image: report })).resolves.toEqualTypeOf<Pid<Report>>();
    expectTypeOf(ctx.spawnChild({ image: square, args: { n: 1 } })).resolves.toEqualTypeOf<Pid<{ square: number }>>();
    expectTypeOf(ctx.fork({ image: square, args: { n: 1 } })).resolves.toEqualTypeOf<Pid<{ square: number }>>();
    expectTypeOf(processes.exec('p', { image: square, args: { n: 1 } })).resolves.toEqualTypeOf<void>();
  });

  it('by name is not typed', () => {
    expectTypeOf(processes.spawn({ image: 'square', args: { m: 3 } })).resolves.toEqualTypeOf<Pid>();
    expectTypeOf(processes.spawn()).resolves.toEqualTypeOf<Pid>();
  });

  it('refuses wrong, missing and misspelt arguments and members', () => {
    // @ts-expect-error n is a number
    processes.spawn({ image: square, args: { n: '3' } });
    // @ts-expect-error n is missing
    processes.spawn({ image: square });
    // @ts-expect-error there is no m
    processes.spawn({ image: square, args: { n: 3, m: 4 } });
    // @ts-expect-error there is no nmae
    processes.spawn({ image: square, args: { n: 3 }, nmae: 'x' });
    // @ts-expect-error n is a number
    ctx.spawnChild({ image: square, args: { n: '3' } });
    // @ts-expect-error n is a number
    processes.exec('p', { image: square, args: { n: '3' } });
    // @ts-expect-error a spec of exec names an image
    processes.exec('p', { args: {} });
  });
});

describe('a pid', () => {
  it('remembers the result for result, value and the waits', async () => {
    const [a, b] = [
      await processes.spawn({ image: square, args: { n: 1 } }),
      await processes.spawn({ image: counted }),
    ];
    expectTypeOf((await processes.result(a)).value).toEqualTypeOf<{ square: number } | undefined>();
    expectTypeOf(await processes.value(a)).toEqualTypeOf<{ square: number }>();
    expectTypeOf((await processes.wait('p', b)).value).toEqualTypeOf<{ at: number } | undefined>();
    expectTypeOf((await ctx.wait(b)).value).toEqualTypeOf<{ at: number } | undefined>();
    expectTypeOf(await ctx.value(b)).toEqualTypeOf<{ at: number }>();
    const [first, second] = await ctx.waitAll([a, b]);
    expectTypeOf(first.value).toEqualTypeOf<{ square: number } | undefined>();
    expectTypeOf(second.value).toEqualTypeOf<{ at: number } | undefined>();
    expectTypeOf((await ctx.waitAny([a, b])).value).toEqualTypeOf<{ square: number } | { at: number } | undefined>();
    expectTypeOf((await processes.waitAll('p', [a, a] as Pid<{ square: number }>[]))[0]?.value).toEqualTypeOf<
      { square: number } | undefined
    >();
    // @ts-expect-error the value has another type
    (await processes.value(a)) satisfies { square: string };
    // @ts-expect-error there is no third
    (await ctx.waitAll([a, b]))[2];
  });

  it('that is plain, or a string, fits everywhere and tells nothing', async () => {
    const plain: Pid = 'p_1';
    const typed: Pid<{ square: number }> = plain;
    const back: Pid = typed;
    expectTypeOf(await processes.value(back)).toEqualTypeOf<JsonValue>();
    expectTypeOf(await processes.value('p_1')).toEqualTypeOf<JsonValue>();
    expectTypeOf((await ctx.waitAll())[0]?.value).toEqualTypeOf<JsonValue | undefined>();
    // @ts-expect-error the result is another one
    typed satisfies Pid<Report>;
  });
});

describe('a call of an image', () => {
  it('answers with its result', () => {
    expectTypeOf(kernel.run(square, { n: 3 })).resolves.toEqualTypeOf<{ square: number }>();
    expectTypeOf(kernel.run(report)).resolves.toEqualTypeOf<Report>();
    expectTypeOf(kernel.run('square', { n: 3 })).resolves.toEqualTypeOf<JsonValue>();
    expectTypeOf(ctx.call(square, { n: 3 }, { budget: { tokens: 1 } })).resolves.toEqualTypeOf<{ square: number }>();
  });

  it('refuses wrong and missing arguments', () => {
    // @ts-expect-error n is a number
    kernel.run(square, { n: '3' });
    // @ts-expect-error n is missing
    kernel.run(square);
    // @ts-expect-error n is a number
    ctx.call(square, { n: '3' });
    // @ts-expect-error the arguments are given before
    ctx.call(square, { n: 3 }, { args: { n: 3 } });
  });
});

import { type } from 'arktype';
import * as v from 'valibot';
import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import type {
  JsonValue,
  Kernel,
  Message,
  MessageBody,
  ObjectHandle,
  Pid,
  ProcessFace,
  StoredObject,
  Syscalls,
} from '../../src/index.js';

declare const ctx: Syscalls;
declare const face: ProcessFace;
declare const kernel: Kernel;
declare const ref: ObjectHandle;
declare const pid: Pid;

const order = z.object({ due: z.string().transform((text) => new Date(text)), count: z.number().default(1) });
interface Order {
  due: Date;
  count: number;
}

test('receive gives the body the type of the output of its schema', async () => {
  expectTypeOf(await ctx.receive({ schema: order })).toEqualTypeOf<Message<Order>>();
  expectTypeOf((await face.receive({ schema: order, timeoutMs: 5, from: pid })).body).toEqualTypeOf<Order>();
  expectTypeOf((await ctx.receive({ schema: v.object({ n: v.number() }) })).body).toEqualTypeOf<{ n: number }>();
  expectTypeOf((await ctx.receive({ schema: type({ n: 'number' }) })).body).toEqualTypeOf<{ n: number }>();
  const { body, from } = await ctx.receive({
    schema: { type: 'object', properties: { n: { type: 'number' }, text: { type: 'string' } }, required: ['n'] },
  });
  expectTypeOf(body).toEqualTypeOf<{ n: number; text?: string }>();
  expectTypeOf(from).toEqualTypeOf<Pid | 'host'>();
  // @ts-expect-error: the body has no such member.
  body.m;
  // @ts-expect-error: the output of the schema is a date, not its input.
  (await ctx.receive({ schema: order })).body.due satisfies string;
  // @ts-expect-error: a number is no schema.
  await ctx.receive({ schema: 7 });
  // @ts-expect-error: there is no such option.
  await ctx.receive({ schema: order, timeout: 5 });
});

test('receive without a schema gives what was sent', async () => {
  expectTypeOf(await ctx.receive()).toEqualTypeOf<Message>();
  expectTypeOf((await face.receive({ timeoutMs: 5 })).body).toEqualTypeOf<MessageBody>();
  // @ts-expect-error: nothing is known about the body.
  (await ctx.receive()).body.count;
});

test('waitSignal gives the type of the output of its schema', async () => {
  expectTypeOf(await ctx.waitSignal('go', { schema: order, timeoutMs: 5 })).toEqualTypeOf<Order>();
  expectTypeOf(await ctx.waitSignal('go', { schema: { enum: ['yes', 'no'] } })).toEqualTypeOf<'yes' | 'no'>();
  expectTypeOf(await ctx.waitSignal('go')).toEqualTypeOf<JsonValue>();
  // @ts-expect-error: the payload is an order.
  (await ctx.waitSignal('go', { schema: order })) satisfies string;
  // @ts-expect-error: a text is no schema.
  await ctx.waitSignal('go', { schema: 'object' });
});

test('read gives the payload the type of the output of its schema', async () => {
  expectTypeOf(await ctx.memory.read(ref, { schema: order })).toEqualTypeOf<StoredObject<Order>>();
  expectTypeOf((await face.memory.read(ref, { schema: order, version: 2 })).payload).toEqualTypeOf<Order>();
  expectTypeOf((await kernel.memory.read(pid, ref, { schema: order })).payload).toEqualTypeOf<Order>();
  expectTypeOf((await kernel.memory.read(pid, ref)).payload).toEqualTypeOf<JsonValue>();
  expectTypeOf(await ctx.memory.read(ref)).toEqualTypeOf<StoredObject>();
  // @ts-expect-error: the payload has no such member.
  (await ctx.memory.read(ref, { schema: order })).payload.dish;
  // @ts-expect-error: a function is no schema.
  await kernel.memory.read(pid, ref, { schema: () => true });
});
